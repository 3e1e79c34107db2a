package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// minFiles is how many files a tree should have.
const minFiles = 50_000

// buildTree copies real files into dir, once: Go's source, the module cache, and what the system has of headers,
// documentation and scripts until there are enough.
func buildTree(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir, nil
	}
	fmt.Fprintf(os.Stderr, "building a tree of real files in %s\n", dir)
	sources := []string{goEnv("GOROOT"), goEnv("GOMODCACHE"), "/usr/include", "/usr/share", "/usr/lib/python3", "/usr/lib"}
	total := 0
	for i, from := range sources {
		if from == "" || i > 1 && total >= minFiles {
			continue
		}
		n, err := copyTree(from, filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(from))), 2*minFiles)
		if err != nil {
			return "", err
		}
		total += n
	}
	if total < minFiles {
		return "", fmt.Errorf("this machine gave %d files, fewer than %d; name a larger tree with -tree", total, minFiles)
	}
	return dir, os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644)
}

func goEnv(name string) string {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// maxFile is how large a file may be to be copied: the tree should be one of many files.
const maxFile = 8 << 20

// copyTree copies the regular files below from, at most limit of them. What cannot be read is left out.
func copyTree(from, to string, limit int) (n int, err error) {
	from, err = filepath.EvalSymlinks(from)
	if err != nil {
		return 0, nil
	}
	err = filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if n >= limit {
			return fs.SkipAll
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxFile {
			return nil
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		n++
		return copyFile(name, filepath.Join(to, rel))
	})
	return n, err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return nil
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
