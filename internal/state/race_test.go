//go:build race

package state

// callsEach is smaller under the race detector, which makes SQLite slow and sees nothing across processes.
const callsEach = 10
