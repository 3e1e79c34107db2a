package forge

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/tongs-ai/tongs"
)

// Export writes a tool as a compressed archive, without what was approved of it.
func (s *Set) Export(name string, w io.Writer) error {
	e, err := s.find(name)
	if err != nil {
		return err
	}
	c, err := load(e.dir)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	for _, f := range c.files {
		mode := int64(0o644)
		if f.Exec {
			mode = 0o755
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name + "/" + f.Path, Size: int64(len(c.data[f.Path])), Mode: mode, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(c.data[f.Path]); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// Import makes a tool of an archive that Export wrote, all of it or nothing. Nobody approved it. It returns its name.
func (s *Set) Import(r io.Reader) (string, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return "", tongs.Errorf(tongs.CodeInvalidArgs, "it is no archive of a custom tool: %w", err)
	}
	defer z.Close()
	made, err := unpack(tar.NewReader(io.LimitReader(z, maxBytes+1<<20)))
	if err != nil {
		return "", tongs.Errorf(tongs.CodeInvalidArgs, "it is no archive of a custom tool: %w", err)
	}
	if _, err := made.Write(s.opt.Dir); err != nil {
		return "", err
	}
	return made.name, s.changed()
}

// unpack reads the files of one tool. Whatever is not a plain file in its directory is refused.
func unpack(t *tar.Reader) (*Scaffolded, error) {
	made, total := &Scaffolded{}, int64(0)
	seen := map[string]bool{}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		name, file, ok := strings.Cut(h.Name, "/")
		switch total += max(h.Size, 0); {
		case h.Typeflag != tar.TypeReg || !ok || !validName.MatchString(name) || !plainPath(file) || seen[file]:
			return nil, fmt.Errorf("%q is not a plain file of a tool", h.Name)
		case made.name != "" && made.name != name:
			return nil, fmt.Errorf("it holds more than one tool, %s and %s", made.name, name)
		case total > maxBytes || len(made.files) == maxFiles+maxVendored:
			return nil, fmt.Errorf("it has more than %d files or %d MiB", maxFiles, maxBytes>>20)
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		made.name, seen[file] = name, true
		made.files = append(made.files, packed(file, data, h.Mode))
	}
	if !seen[ManifestName] {
		return nil, fmt.Errorf("there is no %s in it", ManifestName)
	}
	return made, nil
}

func packed(name string, data []byte, mode int64) (m made) {
	m.name, m.data, m.mode = name, data, fs.FileMode(0o644)
	if mode&0o100 != 0 {
		m.mode = 0o755
	}
	return m
}

// plainPath reports whether a path of an archive stays in the directory of the tool, with no hidden name in it.
func plainPath(name string) bool {
	if !fs.ValidPath(name) || name != path.Clean(name) {
		return false
	}
	for element := range strings.SplitSeq(name, "/") {
		if !bareName(element) {
			return false
		}
	}
	return true
}
