package module

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
)

// asks is the name under which a host answers whether a call needs approval. No tool can have it.
const asks = "tongs.needsApproval"

//go:embed host/host.sh host/host.mjs host/host.py host/build.sh gohost/host.go gohost/schema.go
var hostFiles embed.FS

// bundled is a module, with all that it can import.
type bundled struct {
	content content
	digest  string
	inputs  []input
	// settings are what its host is told, beside the tools.
	settings map[string]any
	// problems say of tools why they cannot be, as far as that shows without running anything.
	problems map[string]string
	// program is the name of the directory of what runs, once that is known.
	program string
}

// bundle makes one thing of a module and what it imports. Nothing of it is run.
func bundle(c *Config, label string) (*bundled, error) {
	lang, err := c.language()
	if err != nil {
		return nil, err
	}
	var b *bundled
	switch lang {
	case javascript:
		b, err = bundleJavaScript(c, label)
	case python:
		b, err = bundlePython(c, label)
	default:
		b, err = bundleGo(c, label)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, configError("the module %s is not there: %w", label, err)
	}
	if err == nil {
		err = b.content.bounded()
	}
	if err != nil {
		return nil, configError("the module %s cannot be loaded: %w", label, err)
	}
	b.digest = b.content.digest()
	slices.SortFunc(b.inputs, func(x, y input) int {
		if x.Path < y.Path {
			return -1
		}
		return 1
	})
	return b, nil
}

// recorder reads files, and remembers which.
type recorder struct{ inputs map[string]input }

// read reads a file, and the state that it is in before that: one that changes meanwhile is taken for changed later.
func (r *recorder) read(path string) ([]byte, error) {
	stamp := stampOf(path)
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if r.inputs == nil {
		r.inputs = map[string]input{}
	}
	r.inputs[path] = stamp
	return data, nil
}

func (r *recorder) list() []input { return slices.Collect(maps.Values(r.inputs)) }

// hosted is what runs: the content of a module, and the host of its language.
func (b *bundled) hosted(lang language, label string) (content, error) {
	c := content{}
	add := func(as, from string) error {
		data, err := hostFiles.ReadFile(from)
		c[as] = data
		return err
	}
	err := add("host", "host/host.sh")
	switch lang {
	case javascript:
		err = errors.Join(err, add("host.mjs", "host/host.mjs"))
	case python:
		err = errors.Join(err, add("host.py", "host/host.py"))
	default:
		err = errors.Join(err, add("build", "host/build.sh"), b.generateGo(c))
	}
	settings := map[string]any{"module": label, "asks": asks}
	maps.Copy(settings, b.settings)
	data, jsonErr := json.Marshal(settings)
	c["settings.json"] = data
	for name, data := range b.content {
		c["src/"+name] = data
	}
	return c, errors.Join(err, jsonErr)
}

// hostVersion identifies the hosts that this program has.
var hostVersion = sync.OnceValue(func() string {
	c := content{}
	_ = fs.WalkDir(hostFiles, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			c[path], err = hostFiles.ReadFile(path)
		}
		return err
	})
	return c.digest()
})

// relative is a path below a directory, with slashes; what is elsewhere has an absolute one without its beginning.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return "elsewhere/" + filepath.ToSlash(path[len(filepath.VolumeName(path)):])[1:]
}
