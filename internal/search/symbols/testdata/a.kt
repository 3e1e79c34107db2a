package a
/* class Not /* nested */ fun x() */
const val LIMIT = 10 // DEF var LIMIT
data class Point(val x: Int, val y: Int) // DEF class Point
sealed interface Shape // DEF interface Shape
class Server<T>(private val port: Int) : Base() { // DEF class Server
    private val name = "fun fake()" // DEF var Server.name
    override suspend fun shutdown(): Unit { // DEF method Server.shutdown
        val local = 1
    }
    companion object { 
    }
}
fun <T> List<T>.second(): T { // DEF method List.second
    return this[1]
}
fun String.shout() = uppercase() // DEF method String.shout
object Registry { // DEF class Registry
    fun get(k: String) = 1 // DEF method Registry.get
}
enum class Color { RED } // DEF enum Color
typealias Id = String // DEF type Id
