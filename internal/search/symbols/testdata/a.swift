// class Not {}
let limit = 10 // DEF var limit
public struct Point: Codable { // DEF struct Point
    var x: Int // DEF var Point.x
    mutating func move(by d: Int) { // DEF method Point.move
        let y = #"func fake() { " "#
    }
}
protocol Handler { // DEF interface Handler
    func handle(_ s: String) // DEF method Handler.handle
}
extension Point: Handler {
    func handle(_ s: String) { // DEF method Point.handle
    }
}
final class Server { // DEF class Server
    @objc private func stop() async throws { // DEF method Server.stop
    }
}
enum Mode { case on, off } // DEF enum Mode
