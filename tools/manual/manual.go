// Package manual holds the long descriptions of the built-in tools, each in a file named after its tool. 'tongs describe' shows
// them, and the reference of the tools is made of them.
package manual

import (
	"embed"
	"io/fs"
)

//go:embed texts
var embedded embed.FS

// Texts returns the long descriptions, such as read_file.txt. They mention ${workspace}, which is filled in when they are shown.
func Texts() fs.FS {
	texts, err := fs.Sub(embedded, "texts")
	if err != nil {
		return embed.FS{} // the directory is named above, so it is there
	}
	return texts
}
