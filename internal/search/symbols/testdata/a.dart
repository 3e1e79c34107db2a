class Server extends Base { // DEF class Server
  Future<void> stop() async { // DEF method Server.stop
  }
}
void main() { // DEF function main
  print('void fake() {');
}
