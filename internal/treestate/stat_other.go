//go:build !unix

package treestate

import (
	"os"
	"path/filepath"
)

// listing is a folder with the names in it.
type listing struct {
	host  string
	names []string
}

func list(host string) (*listing, error) {
	l := &listing{host: host}
	dir, err := os.Open(host)
	if err != nil {
		return l, err
	}
	defer dir.Close()
	l.names, err = dir.Readdirnames(-1)
	return l, err
}

func (l *listing) close() {}

func (l *listing) stat(name string, to *Stat) error { return statOf(filepath.Join(l.host, name), to) }

// StatOf returns the stat of what is at a path on this machine.
func StatOf(host string) (st Stat, err error) {
	err = statOf(host, &st)
	return st, err
}

// statOf has neither inode nor time of change here: a file that is written to keeps no earlier time of modification by itself.
func statOf(host string, to *Stat) error {
	fi, err := os.Lstat(host)
	if err == nil {
		*to = Stat{Mode: fi.Mode(), Size: fi.Size(), Modified: fi.ModTime().UnixNano()}
	}
	return err
}
