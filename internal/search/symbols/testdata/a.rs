//! fn not_this() {}
pub const LIMIT: usize = 10; // DEF const LIMIT
static NAME: &str = "fn x() {"; // DEF var NAME
pub(crate) struct Server<'a, T> { // DEF struct Server
    name: &'a str,
}
pub enum Kind { A, B(char) } // DEF enum Kind
pub trait Handler: Send { // DEF interface Handler
    fn handle(&self) -> Result<(), Error>; // DEF method Handler.handle
}
impl<'a, T: Clone> Handler for Server<'a, T> {
    async fn handle(&self) -> Result<(), Error> { // DEF method Server.handle
        let c = 'x'; let d = '\''; let r = r#"fn fake() { " "#;
        fn nested() {} // DEF function nested
    }
}
impl Server<'_, u8> {
    pub unsafe extern "C" fn new() -> Self { // DEF method Server.new
    }
}
mod tests { // DEF module tests
    fn helper() {} // DEF function tests.helper
}
macro_rules! my_vec { // DEF macro my_vec
    () => {};
}
type Id = u64; // DEF type Id
