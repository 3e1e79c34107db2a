package gitrepo

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path"
	"strconv"
	"strings"
)

const (
	// maxObject is how large a commit or tree may be that is read.
	maxObject = 32 << 20
	// maxRead is how much of objects is read in all, and maxChecked how much of new ones is compared with their names: a small
	// file may be a large object.
	maxRead    = 256 << 20
	maxChecked = 2 << 30
	// maxParents is how many parents a commit may have that is read, and maxFirst how much of its first line is kept.
	maxParents, maxFirst = 256, 1 << 10
	// maxCompared is how many entries of trees are compared to count files.
	maxCompared = 1_000_000
)

var errObject = errors.New("it is not an object that can be read")

// objects are those of a git directory. They are for one goroutine.
type objects struct {
	files fs.FS
	packs []*pack
	known bool
	// cache are commits and trees that were read.
	commits map[string]*commit
	trees   map[string]map[string]treeEntry
	// left is how much may still be read, and compared how many entries of trees were.
	left     int64
	compared int
	// steps is how many objects of packs may still be read, those that others are made of included.
	steps int
}

func newObjects(files fs.FS) *objects {
	return &objects{files: files, commits: map[string]*commit{}, trees: map[string]map[string]treeEntry{}, left: maxRead, steps: maxSteps}
}

// isID reports whether s is the name of an object, of either hash.
func isID(s string) bool {
	if len(s) != 2*sha1.Size && len(s) != 2*sha256.Size {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// isZero reports whether an ID stands for nothing.
func isZero(id string) bool { return strings.Trim(id, "0") == "" }

func loosePath(id string) string { return path.Join("objects", id[:2], id[2:]) }

// has reports whether an object is there. What alternates have counts as not there.
func (o *objects) has(id string) bool {
	if !isID(id) {
		return false
	}
	if info, err := fs.Stat(o.files, loosePath(id)); err == nil && info.Mode().IsRegular() {
		return true
	}
	for _, p := range o.allPacks() {
		if _, ok := p.find(id); ok {
			return true
		}
	}
	return false
}

// read returns a commit, tree or tag.
func (o *objects) read(id string) (kind string, data []byte, err error) {
	if !isID(id) || o.left <= 0 {
		return "", nil, errObject
	}
	defer func() { o.left -= int64(len(data)) }()
	if f, err := o.files.Open(loosePath(id)); err == nil {
		defer f.Close()
		return readLoose(f, min(maxObject, o.left))
	}
	for _, p := range o.allPacks() {
		if at, ok := p.find(id); ok {
			return p.read(o, at, 0)
		}
	}
	return "", nil, fmt.Errorf("object %s: %w", id, fs.ErrNotExist)
}

func readLoose(r io.Reader, limit int64) (kind string, data []byte, err error) {
	z, err := zlib.NewReader(r)
	if err != nil {
		return "", nil, errObject
	}
	defer z.Close()
	all, err := io.ReadAll(io.LimitReader(z, limit+1))
	if err != nil || int64(len(all)) > limit {
		return "", nil, errObject
	}
	head, data, ok := bytes.Cut(all, []byte{0})
	kind, size, _ := strings.Cut(string(head), " ")
	if n, err := strconv.Atoi(size); !ok || err != nil || n != len(data) {
		return "", nil, errObject
	}
	return kind, data, nil
}

// genuine reports whether a new loose object is what its name says: the hash of its content. It takes what it read from left.
func genuine(r io.Reader, id string, left *int64) bool {
	if !isID(id) {
		return false
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return false
	}
	defer z.Close()
	h := newHash(len(id))
	n, err := io.Copy(h, io.LimitReader(z, *left+1))
	if *left -= n; err != nil || *left < 0 {
		return false
	}
	rest, err := r.Read(make([]byte, 1))
	return rest == 0 && errors.Is(err, io.EOF) && hex.EncodeToString(h.Sum(nil)) == id
}

// newHash is the hash of IDs of so many digits.
func newHash(digits int) hash.Hash {
	if digits == 2*sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// blobID returns the ID that git would give to a file of the size, in the hash of IDs of so many digits.
func blobID(r io.Reader, size int64, digits int) (string, error) {
	h := newHash(digits)
	fmt.Fprintf(h, "blob %d\x00", size)
	n, err := io.Copy(h, io.LimitReader(r, size+1))
	if err != nil || n != size {
		return "", errObject
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// commit is what a commit says.
type commit struct {
	tree    string
	parents []string
	// date is when it was committed, as it says itself.
	date    int64
	subject string
}

func (o *objects) commit(id string) (*commit, error) {
	if c, ok := o.commits[id]; ok {
		return c, nil
	}
	kind, data, err := o.read(id)
	if err == nil && kind == "tag" { // an annotated tag
		to, _, _ := strings.Cut(strings.TrimPrefix(string(data), "object "), "\n")
		if kind, data, err = o.read(to); kind == "tag" {
			err = errObject
		}
	}
	if err != nil {
		return nil, err
	}
	if kind != "commit" {
		return nil, fmt.Errorf("%s is a %s, not a commit", id, kind)
	}
	c := &commit{}
	head, message, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch key {
		case "tree":
			c.tree = strings.Clone(value)
		case "parent":
			if c.parents = append(c.parents, strings.Clone(value)); len(c.parents) > maxParents {
				return nil, errObject
			}
		case "committer":
			words := strings.Fields(value)
			if len(words) > 1 {
				c.date, _ = strconv.ParseInt(words[len(words)-2], 10, 64)
			}
		}
	}
	first, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	c.subject = strings.Clone(first[:min(len(first), maxFirst)])
	if !isID(c.tree) {
		return nil, errObject
	}
	o.commits[id] = c
	return c, nil
}

type treeEntry struct{ mode, name, id string }

func (e treeEntry) isTree() bool { return e.mode == "40000" }

// tree returns what a tree has, by name.
func (o *objects) tree(id string) (map[string]treeEntry, error) {
	if list, ok := o.trees[id]; ok {
		return list, nil
	}
	kind, data, err := o.read(id)
	if err != nil {
		return nil, err
	}
	if kind != "tree" {
		return nil, errObject
	}
	list := map[string]treeEntry{}
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, found := strings.Cut(string(head), " ")
		if n := len(id) / 2; !ok || !found || len(rest) < n {
			return nil, errObject
		} else {
			list[name] = treeEntry{mode, name, hex.EncodeToString(rest[:n])}
			data = rest[n:]
		}
	}
	o.trees[id] = list
	return list, nil
}

// lookup returns what a tree has at a path.
func (o *objects) lookup(tree, at string) (treeEntry, bool) {
	name, rest, more := strings.Cut(at, "/")
	list, err := o.tree(tree)
	if err != nil {
		return treeEntry{}, false
	}
	switch e, ok := list[name]; {
	case ok && !more:
		return e, !e.isTree()
	case ok && e.isTree():
		return o.lookup(e.id, rest)
	}
	return treeEntry{}, false
}

// differing counts the files that two trees do not have in common, up to a limit. An empty ID is an empty tree.
func (o *objects) differing(a, b string, limit int) (n int, err error) {
	if a == b {
		return 0, nil
	}
	var sides [2]map[string]treeEntry
	for i, id := range []string{a, b} {
		if id == "" {
			continue
		}
		if sides[i], err = o.tree(id); err != nil {
			return 0, err
		}
	}
	names := maps.Clone(sides[0])
	if names == nil {
		names = map[string]treeEntry{}
	}
	maps.Copy(names, sides[1])
	if o.compared += len(names); o.compared > maxCompared {
		return 0, errObject
	}
	for name := range names {
		if n > limit {
			return n, nil
		}
		x, y := sides[0][name], sides[1][name]
		if x == y {
			continue
		}
		var below [2]string
		for i, e := range []treeEntry{x, y} {
			if e.isTree() {
				below[i] = e.id
			} else if e.id != "" && !(i == 1 && x.id != "" && !x.isTree()) { // a file that changed counts once
				n++
			}
		}
		if below[0] != "" || below[1] != "" {
			more, err := o.differing(below[0], below[1], limit-n)
			if err != nil {
				return n, err
			}
			n += more
		}
	}
	return n, nil
}
