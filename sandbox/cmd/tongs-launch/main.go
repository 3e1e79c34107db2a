// Command tongs-launch is the part of the sandbox that runs outside the program that uses it. It is started by Tongs,
// from a copy embedded in it, and is of no use by hand.
package main

import (
	"os"

	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

func main() {
	launch.Main()
	_, _ = os.Stderr.WriteString("tongs-launch is started by tongs, not by hand\n")
	os.Exit(2)
}
