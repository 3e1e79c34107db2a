package files

import (
	"embed"
	"io/fs"
)

//go:embed texts
var embedded embed.FS

// Texts returns the long descriptions of the tools, each in a file named after its tool. They speak of ${workspace},
// which whoever shows them fills in.
func Texts() fs.FS {
	texts, err := fs.Sub(embedded, "texts")
	if err != nil {
		return embed.FS{} // the directory is named above, so it is there
	}
	return texts
}
