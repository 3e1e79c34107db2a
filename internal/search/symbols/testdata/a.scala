object Main extends App { // DEF class Main
  def run(x: Int): Int = { // DEF method Main.run
    val local = 1
  }
}
case class Point(x: Int) // DEF class Point
trait Shape // DEF interface Shape
