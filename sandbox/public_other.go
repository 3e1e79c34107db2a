//go:build !unix

package sandbox

import "io/fs"

// ownedByRoot knows no administrator here.
func ownedByRoot(fs.FileInfo) bool { return false }
