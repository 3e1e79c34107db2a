//go:build !linux

package launch

// Main returns at once: only on Linux does the sandbox have parts of its own.
func Main() {}
