namespace deep::inner { // DEF module deep::inner
template <typename T> class Stack : public Base<T> { // DEF class Stack
 public:
  explicit Stack(int n) : n_(n) { // DEF method Stack.Stack
  }
  void push(const T& x) const noexcept override { // DEF method Stack.push
    auto f = [&](int a) { return a; };
  }
  virtual int size() const = 0; // DEF method Stack.size
};
class EXPORTED Widget final { // DEF class Widget
};
class Forward;
int Widget::draw(int x) const { // DEF method Widget.draw
  auto s = R"x(int fake() { " )x";
  int big = 1'000'000;
  return x;
}
Widget::~Widget() { // DEF method Widget.Widget
}
enum class Mode { A, B }; // DEF enum Mode
}
