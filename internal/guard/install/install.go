package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/guard"
	"github.com/tongs-ai/tongs/internal/owned"
)

// Place is where a client's settings are.
type Place struct {
	StateDir, Home string
	// Project is the directory to install for, empty for all projects of the user.
	Project string
	// Program is the absolute path of tongs.
	Program string
}

// edit is one file of a client and how our entries come in and out.
type edit struct {
	path    string
	with    func(data []byte) ([]byte, error)
	without func(data []byte) ([]byte, error)
}

// Change is what installing would do to a file.
type Change struct {
	Path          string
	Before, After []byte
	Fresh         bool
}

// Plan returns what Install would write. Nothing is changed.
func Plan(c guard.Client, p Place) ([]Change, error) {
	edits, err := editsOf(c, p)
	if err != nil {
		return nil, err
	}
	var list []Change
	for _, e := range edits {
		before, err := os.ReadFile(e.path)
		fresh := errors.Is(err, fs.ErrNotExist)
		if err != nil && !fresh {
			return nil, err
		}
		clean, err := e.without(before)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.path, err)
		}
		after, err := e.with(clean)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.path, err)
		}
		list = append(list, Change{Path: e.path, Before: before, After: after, Fresh: fresh})
	}
	return list, nil
}

// Install makes the changes that Plan returned. The manifest is written first: whatever ends the process, what was written is known.
func Install(c guard.Client, p Place, changes []Change) error {
	if err := config.MakeStateDir(p.StateDir); err != nil {
		return err
	}
	old, err := find(p.StateDir, c.Name, p.Project)
	if err != nil {
		return err
	}
	in := Installed{Client: c.Name, Level: "undo", Project: p.Project, Program: p.Program, Time: time.Now()}
	for _, ch := range changes {
		w := Written{Path: ch.Path, Fresh: ch.Fresh, Before: ch.Before, After: digest(ch.After), Dirs: missingDirs(ch.Path)}
		if was := old.file(ch.Path); was != nil && was.After == digest(ch.Before) { // what was there before the first time counts
			w.Fresh, w.Before, w.Dirs = was.Fresh, was.Before, was.Dirs
		}
		in.Files = append(in.Files, w)
	}
	if err := save(p.StateDir, in, false); err != nil {
		return err
	}
	for _, ch := range changes {
		if bytes.Equal(ch.Before, ch.After) {
			continue
		}
		if now, err := os.ReadFile(ch.Path); err == nil && (ch.Fresh || !bytes.Equal(now, ch.Before)) {
			return tongs.Errorf(tongs.CodeStaleFile, "%s changed meanwhile; it was not written, run it again", ch.Path)
		}
		if err := owned.Rewrite(ch.Path, ch.After, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (in Installed) file(path string) *Written {
	for i := range in.Files {
		if in.Files[i].Path == path {
			return &in.Files[i]
		}
	}
	return nil
}

func find(stateDir, client, project string) (Installed, error) {
	list, err := List(stateDir)
	for _, in := range list {
		if in.Client == client && in.Project == project {
			return in, err
		}
	}
	return Installed{}, err
}

// ErrNotInstalled says that there is nothing to remove.
var ErrNotInstalled = errors.New("it is not installed")

// Remove takes our entries out of a client's settings: a file that nobody touched becomes what it was, byte for byte.
func Remove(c guard.Client, p Place) error {
	in, err := find(p.StateDir, c.Name, p.Project)
	if err != nil {
		return err
	}
	if in.Client == "" {
		return ErrNotInstalled
	}
	edits, err := editsOf(c, p)
	if err != nil {
		return err
	}
	for _, w := range in.Files {
		without := func([]byte) ([]byte, error) {
			return nil, errors.New("the file changed, and this version of Tongs does not know what it wrote there; remove it by hand")
		}
		for _, e := range edits {
			if e.path == w.Path {
				without = e.without
			}
		}
		if err := w.takeBack(without); err != nil {
			return err
		}
	}
	return save(p.StateDir, in, true)
}

func editsOf(c guard.Client, p Place) ([]edit, error) {
	if !filepath.IsAbs(p.Program) {
		return nil, fmt.Errorf("the program %q is not an absolute path", p.Program)
	}
	switch c.Name {
	case "claude-code":
		return claude(p), nil
	case "codex":
		return codex(p)
	case "gemini":
		return gemini(p), nil
	case "opencode":
		return opencode(p), nil
	case "copilot":
		return copilot(p), nil
	}
	return nil, fmt.Errorf("hooks cannot be installed in %s yet", c.Title)
}
