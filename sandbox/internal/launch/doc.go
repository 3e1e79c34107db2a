// Package launch is the part of the sandbox that runs outside the host process: the keeper, a small long-lived process
// that starts sandboxes and removes what they leave, and init, the first process of each sandbox. It decides nothing:
// the host sends a [Spec], and init carries it out or reports why it could not.
//
// It is compiled into its own small program, cmd/tongs-launch, so it imports little: what it imports is paid for at
// the start of every command. It is also reached by re-executing the host's own binary, through [Main].
package launch
