//go:build !linux

package forge

import (
	"os"
	"path/filepath"
)

// stampOf looks at a file, without following a link.
func stampOf(name string) (stamp, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return stamp{Missing: true}, err
	}
	return stamp{Size: info.Size(), Mtime: info.ModTime().UnixNano(), Mode: uint32(info.Mode())}, nil
}

// top is the forge.
type top struct{ dir string }

func openTop(dir string) (*top, error) { return &top{dir}, nil }

func (t *top) close() {}

// stamp looks at what is at a path below the forge.
func (t *top) stamp(rel string) stamp {
	s, _ := stampOf(filepath.Join(t.dir, rel))
	return s
}
