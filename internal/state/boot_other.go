//go:build !linux && !darwin

package state

// bootName identifies this start of the machine, empty where it cannot be told.
func bootName() string { return "" }
