//go:build !race

package state

// callsEach is how many calls each of the 32 processes writes.
const callsEach = 200
