// Package gitssh is how git in a sandbox reaches remotes of ssh: it runs the launcher instead of ssh, and that asks the proxy
// of the sandbox for a connection.
package gitssh

// Name is the first argument by which the launcher is run instead of ssh. What follows is what git gives ssh.
const Name = "--tongs-git-ssh"

// The request for a connection is a GET of Path, which the host answers by switching protocols, or with a sentence.
const (
	Path     = "/tongs/git-ssh"
	Protocol = "tongs-git-ssh"
	// Args is the header with the arguments, each with a zero byte after it, in hexadecimal digits, and Version that with the
	// version of the protocol that git wants.
	Args    = "Tongs-Args"
	Version = "Git-Protocol"
)

// The host answers in pieces: a kind, four bytes of length with the highest first, and at most MaxPiece bytes.
const (
	Output   = 1
	Errors   = 2
	Exit     = 3 // one byte, the exit code
	MaxPiece = 1 << 20
)

// Failed is the exit code of ssh that could not connect.
const Failed = 255
