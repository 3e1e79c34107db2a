package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

const (
	// maxFile is how large a file of git's may be that is read, but for the index and packed refs.
	maxFile  = 4 << 20
	maxIndex = 256 << 20
)

// side is one state of a git directory.
type side struct {
	files   fs.FS
	objects *objects
	refs    map[string]string
	// err is why the refs cannot be told.
	err error
}

func newSide(files fs.FS) *side {
	s := &side{files: files, objects: newObjects(files)}
	s.refs, s.err = Refs(files)
	return s
}

// read returns the content of a file, "" where there is none.
func (s *side) read(name string) (string, error) {
	data, err := readFile(s.files, name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

func (s *side) exists(name string) bool { return exists(s.files, name) }

func readFile(files fs.FS, name string, limit int64) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is more than %d bytes long", name, limit)
	}
	return data, err
}

// Refs returns the values of all refs of a git directory, loose or packed: an ID, or "ref: NAME".
func Refs(files fs.FS) (map[string]string, error) {
	refs := map[string]string{}
	data, err := readFile(files, "packed-refs", maxIndex)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if refs, err = ParsePacked(data); err != nil {
		return nil, err
	}
	err = fs.WalkDir(files, "refs", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a file", name)
		}
		data, err := readFile(files, name, maxFile)
		if err != nil {
			return err
		}
		if refs[name], err = ParseRef(data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	return refs, err
}

var errRef = errors.New("it is not a ref that can be read")

// ParseRef returns the value that a loose ref has.
func ParseRef(data []byte) (string, error) {
	value := strings.TrimRight(string(data), "\n")
	if to, ok := strings.CutPrefix(value, "ref: "); ok && ValidRef(to) || isID(value) && !isZero(value) {
		return value, nil
	}
	return "", errRef
}

// ParsePacked returns the refs that a file of packed refs has. Git searches it by halves, so one that is not in order, or names a
// ref twice, has other refs for git than for a reader: it is refused.
func ParsePacked(data []byte) (map[string]string, error) {
	refs, last := map[string]string{}, ""
	for bytes := range bytes.Lines(data) {
		line, whole := strings.CutSuffix(string(bytes), "\n")
		value, name, ok := strings.Cut(line, " ")
		switch {
		case !whole || strings.ContainsAny(line, "\x00\r"):
			return nil, fmt.Errorf("packed-refs: %w", errRef)
		case strings.HasPrefix(line, "# pack-refs with:") && last == "":
		case strings.HasPrefix(line, "^") && isID(line[1:]) && last != "":
		case ok && isID(value) && strings.HasPrefix(name, "refs/") && fs.ValidPath(name) && name > last:
			refs[name], last = value, name
		default:
			return nil, fmt.Errorf("packed-refs: %w", errRef)
		}
	}
	return refs, nil
}

// Unpacked returns the file of packed refs without one of them.
func Unpacked(data []byte, name string) []byte {
	var out bytes.Buffer
	dropped := false
	for line := range bytes.Lines(data) {
		if line[0] == '^' && dropped {
			continue // what the tag stands for
		}
		_, at, _ := strings.Cut(strings.TrimRight(string(line), "\n"), " ")
		if dropped = at == name && line[0] != '#'; !dropped {
			out.Write(line)
		}
	}
	return out.Bytes()
}

// head returns what a worktree has checked out: the branch, or none, and the ID of the commit, "" before the first.
func (s *side) head(worktree string) (branch, commit string) {
	text, err := s.read(path.Join(worktree, "HEAD"))
	if err != nil {
		return "", ""
	}
	value := strings.TrimRight(text, "\n")
	if name, ok := strings.CutPrefix(value, "ref: "); ok {
		return name, s.refs[name]
	}
	return "", value
}

// entries returns the index of a worktree.
func (s *side) entries(worktree string) ([]gitdir.Entry, error) {
	data, err := readFile(s.files, path.Join(worktree, "index"), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return gitdir.Entries(data)
}

// worktrees are the git directories of a repository's worktrees: "" is its own.
func (s *side) worktrees() []string {
	list := []string{""}
	dirs, _ := fs.ReadDir(s.files, "worktrees")
	for _, d := range dirs {
		if d.IsDir() {
			list = append(list, "worktrees/"+d.Name())
		}
	}
	return list
}
