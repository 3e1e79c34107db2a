pub fn main() void { // DEF function main
    const x = 1;
}
pub const Point = struct { // DEF const Point
};
