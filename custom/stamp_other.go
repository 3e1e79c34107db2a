//go:build !linux

package custom

import (
	"io/fs"
	"os"
)

// stampOf looks at a file, without following a link.
func stampOf(name string) (stamp, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return stamp{Missing: true}, err
	}
	return stamp{Size: info.Size(), Mtime: info.ModTime().UnixNano(), Mode: uint32(info.Mode())}, nil
}

func (s stamp) regular() bool { return fs.FileMode(s.Mode).IsRegular() && !s.Missing }
func (s stamp) dir() bool     { return fs.FileMode(s.Mode).IsDir() }
