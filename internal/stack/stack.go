// Package stack makes room on the stack of a goroutine that has just begun. While the stack is empty that costs a tenth of
// growing it step by step in deeper calls, which copies all that is on it each time.
package stack

// Grow8 makes room for 8 KiB, as the code of a tool needs it. At is any index of a byte in that room.
//
//go:noinline
func Grow8(at int) byte {
	var room [8 << 10]byte
	return room[at]
}

// Grow32 makes room for 32 KiB, as the walk of a call needs it.
//
//go:noinline
func Grow32(at int) byte {
	var room [32 << 10]byte
	return room[at]
}
