//go:build !linux

package module

import "io/fs"

// identity is what tells two states of a file apart that have the same size and time, where the system has that.
func identity(fs.FileInfo) (changed int64, inode uint64) { return 0, 0 }
