// Package internal holds everything that is not a promise to users: the wiring, configuration, state, console, search
// index, custom tools (forge), and the small helpers that many packages share.
//
// Programs outside this module cannot import it. They use package system, which wires all of it.
package internal
