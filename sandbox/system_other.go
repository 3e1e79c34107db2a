//go:build !darwin

package sandbox

func systemDirs() []string { return system }
