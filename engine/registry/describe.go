package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
)

// MaxDescription is the most bytes that the text of a long description may have.
const MaxDescription = 64 << 10

// Texts finds the long descriptions of tools, each in a file named after its tool: read_file.txt.
type Texts struct {
	// Folder is a directory whose files go before the embedded ones; empty means none.
	Folder string
	// Embedded are the texts that come with the tools; nil means none.
	Embedded fs.FS
}

// Vars are the host paths that a description may mention: ${workspace} is the workspace, ${directory} the directory that relative
// paths of calls start from, and ${cwd} the one that the program was started in.
type Vars struct {
	Workspace, Directory, Cwd string
}

// Describe returns the long description of a tool: the file in the folder, else the embedded one, else the description
// of the spec. ${workspace}, ${directory} and ${cwd} are replaced; everything else stays as it is written. A file that
// is there but cannot be used is an error.
func (t Texts) Describe(spec *tongs.Spec, vars Vars) (string, error) {
	if !validName.MatchString(spec.Name) {
		return "", fmt.Errorf("tool name %q: want 1 to 64 of letters, digits, _ and -", spec.Name)
	}
	name := spec.Name + ".txt"
	text, err := t.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = spec.Description, nil
	}
	if err != nil {
		return "", fmt.Errorf("description of %s: %w", spec.Name, err)
	}
	return vars.expand(text), nil
}

func (t Texts) read(name string) (string, error) {
	if t.Folder != "" {
		root, err := os.OpenRoot(t.Folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err == nil {
			defer root.Close()
			text, err := readText(root.FS(), name)
			if !errors.Is(err, fs.ErrNotExist) {
				return text, err
			}
		}
	}
	if t.Embedded == nil {
		return "", fs.ErrNotExist
	}
	return readText(t.Embedded, name)
}

// readText reads a regular file of bounded size. It looks before it opens, so that a FIFO does not make it wait.
func readText(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", name)
	}
	file, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxDescription+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > MaxDescription:
		return "", fmt.Errorf("%s has more than %d bytes; shorten it", name, MaxDescription)
	case !utf8.Valid(text):
		return "", fmt.Errorf("%s is not UTF-8 text", name)
	}
	return strings.TrimSpace(string(bytes.TrimPrefix(text, []byte("\ufeff")))), nil
}

// expand replaces the known variables in one pass: what a value holds is not expanded again.
func (v Vars) expand(text string) string {
	return strings.NewReplacer("${workspace}", v.Workspace, "${directory}", v.Directory, "${cwd}", v.Cwd).Replace(text)
}
