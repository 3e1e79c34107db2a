<?php
namespace App;
// class Not {}
# function not() {}
const LIMIT = 10; // DEF const LIMIT
#[Attr]
final class Server extends Base implements X { // DEF class Server
    private const MAX = 3; // DEF const Server.MAX
    public function __construct(private int $x) { // DEF method Server.__construct
        $f = function ($a) { return $a; };
    }
    public static function build(): self { // DEF method Server.build
        $s = <<<EOT
        function fake() {
        don't
        EOT;
    }
}
interface Handler { // DEF interface Handler
    public function handle(string $a): void; // DEF method Handler.handle
}
trait Logs { } // DEF class Logs
function helper(array $x) { // DEF function helper
}
