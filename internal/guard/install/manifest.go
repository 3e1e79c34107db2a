// Package install puts the hooks of Tongs into the settings of agent programs and takes them out again. Every file that it writes outside
// the directories of Tongs is in a manifest in the state directory, with what was there before.
package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tongs-ai/tongs/internal/owned"
)

// Installed is a client whose settings have our hooks.
type Installed struct {
	Client string `json:"client"`
	// Level is what the hooks do: "undo".
	Level string `json:"level"`
	// Project is the directory that it is installed for, empty for all projects of the user.
	Project string    `json:"project,omitempty"`
	Program string    `json:"program"`
	Time    time.Time `json:"time"`
	Files   []Written `json:"files"`
}

// Written is a file that was changed.
type Written struct {
	Path string `json:"path"`
	// Fresh says that there was none; Before is what was there, and After the hash of what was written.
	Fresh  bool   `json:"fresh,omitempty"`
	Before []byte `json:"before,omitempty"`
	After  string `json:"after"`
	// Dirs are the directories that were made for it, the outermost first.
	Dirs []string `json:"dirs,omitempty"`
}

type manifest struct {
	Installed []Installed `json:"installed"`
}

func manifestFile(stateDir string) string { return filepath.Join(stateDir, "guard.json") }

// List returns what is installed.
func List(stateDir string) ([]Installed, error) {
	var m manifest
	data, err := os.ReadFile(manifestFile(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile(stateDir), err)
	}
	return m.Installed, nil
}

// save writes the manifest with one entry replaced, or with gone removed.
func save(stateDir string, in Installed, gone bool) error {
	list, err := List(stateDir)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(o Installed) bool { return o.Client == in.Client && o.Project == in.Project })
	if !gone {
		list = append(list, in)
	}
	data, err := json.MarshalIndent(manifest{Installed: list}, "", "  ")
	if err != nil {
		return err
	}
	return owned.Replace(manifestFile(stateDir), append(data, '\n'), 0o600)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// State says how a file is, compared with what was written.
type State string

// The states.
const (
	AsWritten State = "as installed"
	Changed   State = "changed since"
	Missing   State = "missing"
)

// State looks at the file.
func (w Written) State() State {
	data, err := os.ReadFile(w.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing
	case err != nil || digest(data) != w.After:
		return Changed
	}
	return AsWritten
}

// takeBack makes a file what it was where nobody touched it, and takes only our entries out of it otherwise.
func (w Written) takeBack(without func([]byte) ([]byte, error)) error {
	data, err := os.ReadFile(w.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.removeDirs()
	case err != nil:
		return err
	}
	if digest(data) == w.After {
		if w.Fresh {
			if err := os.Remove(w.Path); err != nil {
				return err
			}
			return w.removeDirs()
		}
		return owned.Rewrite(w.Path, w.Before, 0o600)
	}
	rest, err := without(data)
	if err != nil {
		return fmt.Errorf("%s: %w", w.Path, err)
	}
	if bytes.Equal(rest, data) {
		return nil
	}
	return owned.Rewrite(w.Path, rest, 0o600)
}

// removeDirs removes the directories that were made and have nothing in them.
func (w Written) removeDirs() error {
	for _, dir := range slices.Backward(w.Dirs) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil // somebody uses it by now
		}
	}
	return nil
}

// missingDirs are the directories above a file that do not exist, the outermost first.
func missingDirs(path string) (dirs []string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			slices.Reverse(dirs)
			return dirs
		}
		dirs = append(dirs, dir)
	}
}
