// Package rank finds the files, and the places in them, that have most to do with a question in words: "where is the
// approval digest computed". It knows no model of language. It splits identifiers into words, takes words to their
// stems, knows some hundred words that programs use for each other, and weighs by BM25 what occurs in the text, the path
// and above all the names of definitions.
//
// An Index holds words, not text: up to half of the size of what was read. Files are added and removed one by one. Search ranks
// files; Ranking.Places then looks at the text of one of them, as it is now, and finds the definitions and lines.
package rank

import (
	"bytes"
	"encoding/binary"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs/internal/search/symbols"
)

// ID numbers the files of an index, in the order in which they were added. A file that is added again gets a new one.
type ID uint32

// field is where in a file a word is.
type field int

const (
	inText  field = iota
	inPath        // a directory of its path
	inBase        // its own name
	inNames       // the name of a definition
	isName        // all of the name of a definition, compacted
	fields
)

// Document is a file, ready to be added to an index.
type Document struct {
	path   string
	length int
	traits traits
	words  [fields]map[string]int
}

// traits are what makes a file less likely to be what is looked for.
type traits uint8

const (
	isTest traits = 1 << iota
	isGenerated
	isVendored
	isProse
)

var generated = regexp.MustCompile(`(?mi)^.{0,4} ?(code generated .*do not edit|@generated|this file (is|was) (auto-?)?generated)`)

// Read makes a document of a file. The path is separated by slashes; text is not kept.
func Read(name string, text []byte, defs []symbols.Definition) *Document {
	d := &Document{path: name, traits: traitsOf(name, text)}
	for i := range d.words {
		d.words[i] = map[string]int{}
	}
	raw := map[string]*int{}
	buf := eachWord(text, make([]byte, 0, maxWord*3), func(w []byte) {
		d.length++
		if n := raw[string(w)]; n != nil {
			*n++
			return
		}
		n := 1
		raw[string(w)] = &n
	})
	for w, n := range raw {
		d.words[inText][stem(w)] += *n
	}
	dir, base := path.Split(name)
	count := func(f field) func([]byte) { return func(w []byte) { d.words[f][stem(string(w))]++ } }
	buf = eachWord([]byte(dir), buf, count(inPath))
	buf = eachWord([]byte(strings.TrimSuffix(base, path.Ext(base))), buf, count(inBase))
	for _, def := range defs {
		buf = eachWord([]byte(def.Name), buf, count(inNames))
		if def.Kind != symbols.Heading {
			d.words[isName][compact(def.Name)]++
		}
	}
	return d
}

func traitsOf(name string, text []byte) (t traits) {
	base := strings.ToLower(path.Base(name))
	lowered := "/" + strings.ToLower(name)
	stemOf := strings.TrimSuffix(base, path.Ext(base))
	switch {
	case strings.HasSuffix(stemOf, "_test") || strings.HasSuffix(stemOf, ".test") || strings.HasSuffix(stemOf, ".spec") || strings.HasPrefix(base, "test_"),
		strings.Contains(lowered, "/test/"), strings.Contains(lowered, "/tests/"), strings.Contains(lowered, "/__tests__/"), strings.Contains(lowered, "/spec/"):
		t |= isTest
	}
	for _, dir := range []string{"/vendor/", "/node_modules/", "/third_party/", "/testdata/", "/fixtures/", "/dist/"} {
		if strings.Contains(lowered, dir) {
			t |= isVendored
		}
	}
	switch path.Ext(base) {
	case ".md", ".txt", ".rst", ".html", ".json", ".yaml", ".yml", ".xml", ".svg", ".lock", ".sum", ".csv", ".log":
		t |= isProse
	}
	head := text[:min(len(text), 2048)]
	if bytes.Contains(bytes.ToLower(head), []byte("generated")) && generated.Match(head) || strings.Contains(base, ".min.") || strings.Contains(base, ".pb.") {
		t |= isGenerated
	}
	return t
}

// weight returns how much a file with these traits counts.
func (t traits) weight(q *Query) float64 {
	w := 1.0
	if t&isTest != 0 && !q.tests {
		w *= 0.6
	}
	if t&isGenerated != 0 {
		w *= 0.6
	}
	if t&isVendored != 0 {
		w *= 0.6
	}
	if t&isProse != 0 {
		w *= 0.6
	}
	return w
}

// Index holds the words of files. It is safe for concurrent use.
type Index struct {
	mu    sync.RWMutex
	files []file
	ids   map[string]ID
	lists [fields]map[string]*list
	dead  int
	size  int64
}

// file is a file of an index. Its path is empty once it was removed.
type file struct {
	path   string
	length uint32
	traits traits
}

// list are the files that have a word: for each the distance of its ID to the one before, and how often the word occurs,
// up to 255.
type list struct {
	last ID
	data []byte
}

// What the parts of an index take, beside the bytes in them.
const (
	fileCost = 120
	listCost = 120
)

// New returns an empty index.
func New() *Index {
	x := &Index{ids: map[string]ID{}}
	for i := range x.lists {
		x.lists[i] = map[string]*list{}
	}
	return x
}

// Add adds a document and returns its ID. One of the same path is removed.
func (x *Index) Add(d *Document) ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(d.path)
	if x.dead > 1000 && x.dead > len(x.files)/2 {
		x.pack()
	}
	id := ID(len(x.files))
	x.files = append(x.files, file{path: d.path, length: uint32(min(d.length, 1<<30)), traits: d.traits})
	x.ids[d.path] = id
	x.size += fileCost + int64(len(d.path))
	for f, words := range d.words {
		for w, n := range words {
			x.enter(x.lists[f], w, id, n)
		}
	}
	return id
}

func (x *Index) enter(lists map[string]*list, w string, id ID, n int) {
	l := lists[w]
	if l == nil {
		l = &list{}
		lists[strings.Clone(w)] = l
		x.size += listCost + int64(len(w))
	}
	before := cap(l.data)
	l.data = binary.AppendUvarint(l.data, uint64(id-l.last))
	l.data = append(l.data, byte(min(n, 255)))
	l.last = id
	x.size += int64(cap(l.data) - before)
}

// each calls yield with the files of a list and how often each has the word.
func (l *list) each(yield func(id ID, n int)) {
	id := ID(0)
	for data := l.data; len(data) > 0; {
		d, n := binary.Uvarint(data)
		if n <= 0 || n >= len(data) {
			return
		}
		id += ID(d)
		yield(id, int(data[n]))
		data = data[n+1:]
	}
}

// Remove removes the file with a path, if there is one.
func (x *Index) Remove(path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(path)
}

func (x *Index) remove(path string) {
	id, ok := x.ids[path]
	if !ok {
		return
	}
	delete(x.ids, path)
	x.files[id].path = ""
	x.dead++
}

// pack gives the files new IDs, so that nothing is left of those that were removed.
func (x *Index) pack() {
	moved := make([]ID, len(x.files))
	var files []file
	for id, f := range x.files {
		if f.path != "" {
			moved[id] = ID(len(files))
			x.ids[f.path] = moved[id]
			files = append(files, f)
		}
	}
	x.size = 0
	for _, f := range files {
		x.size += fileCost + int64(len(f.path))
	}
	for f := range x.lists {
		old := x.lists[f]
		x.lists[f] = make(map[string]*list, len(old))
		for w, l := range old {
			l.each(func(id ID, n int) {
				if x.files[id].path != "" {
					x.enter(x.lists[f], w, moved[id], n)
				}
			})
		}
	}
	x.files, x.dead = files, 0
}

// Has reports whether a file with that path is in the index.
func (x *Index) Has(path string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.ids[path]
	return ok
}

// Len returns how many files there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.ids)
}

// Size estimates how much memory the index takes, in bytes.
func (x *Index) Size() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.size
}

// Paths returns the paths of the files, sorted.
func (x *Index) Paths() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	list := make([]string, 0, len(x.ids))
	for p := range x.ids {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}
