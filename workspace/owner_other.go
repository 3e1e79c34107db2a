//go:build !unix

package workspace

import "io/fs"

// ownedByUs trusts the directory where its owner cannot be told: it is in the user's own profile.
func ownedByUs(fs.FileInfo) bool { return true }
