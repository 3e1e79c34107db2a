//go:build !unix

package sqlitefile

import "io/fs"

// hasModes says that permission bits mean nothing here: a profile directory is private by its access list.
const hasModes = false

const noFollow = 0

func checkOwner(string, fs.FileInfo) error { return nil }
