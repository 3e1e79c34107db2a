//go:build !unix

package mcpserver

import (
	"errors"
	"os"
)

// private refuses: who can open a socket here cannot be told from its mode.
func private(string) error {
	return errors.New("sockets that only their owner can open are not known on this platform; use an address of 127.0.0.1")
}

// readableByOwner leaves the access list as it is: a file in a user's profile is private by inheritance.
func readableByOwner(string, os.FileInfo) error { return nil }
