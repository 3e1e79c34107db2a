package gitrelay

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// objects are what the pack of a push has.
type objects struct {
	types map[string]string // by name
	// parents are those of the commits, and subjects their first lines. Tags are what tags stand for.
	parents  map[string][]string
	subjects map[string]string
	tags     map[string]string
}

// maxTexts is how much commits and tags may have in all: they are read into memory, and a small pack may have large ones.
const maxTexts = 64 << 20

// inspect reads the pack of a push, in a repository that has nothing else and no settings.
func (p *push) inspect(ctx context.Context) (*objects, error) {
	o := &objects{types: map[string]string{}, parents: map[string][]string{}, subjects: map[string]string{}, tags: map[string]string{}}
	if p.pack == "" {
		return o, nil
	}
	if p.format != "sha1" && p.format != "sha256" {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "objects are named by %q, which is not known", plain(p.format))
	}
	if err := countable(p.pack); err != nil {
		return nil, err
	}
	if _, err := ownGit(ctx, p.dir, nil, "init", "-q", "--bare", "--template=", "--object-format="+p.format, p.dir); err != nil {
		return nil, err
	}
	if _, err := ownGit(ctx, p.dir, nil, "index-pack", "--fsck-objects", p.pack); err != nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "what git wants to push is not sound: %w", err)
	}
	list, err := ownGit(ctx, p.dir, nil, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	var read bytes.Buffer
	left := int64(maxTexts)
	for line := range strings.Lines(string(list)) {
		var id, kind string
		var size int64
		if _, err := fmt.Sscan(line, &id, &kind, &size); err != nil {
			return nil, tongs.Errorf(tongs.CodeInternal, "git cat-file cannot be read: %q", line)
		}
		if o.types[id] = kind; kind == "commit" || kind == "tag" {
			read.WriteString(id + "\n")
			left -= size
		}
	}
	if left < 0 {
		return nil, tongs.Errorf(tongs.CodeTooLarge, "the commits and tags of one push have more than %d MiB; push it in your own terminal", maxTexts>>20)
	}
	texts, err := ownGit(ctx, p.dir, read.Bytes(), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	if err := o.parse(texts); err != nil {
		return nil, err
	}
	return o, o.belong(ctx, p)
}

// maxObjects is how many objects of one push are looked at: each takes memory.
const maxObjects = 1_000_000

// countable refuses a pack of too many objects, by what its header says.
func countable(pack string) error {
	f, err := os.Open(pack)
	if err != nil {
		return err
	}
	defer f.Close()
	var header [12]byte
	if _, err := io.ReadFull(f, header[:]); err != nil || string(header[:7]) != "PACK\x00\x00\x00" {
		return tongs.Errorf(tongs.CodeInvalidArgs, "what git wants to push is not sound: it is no pack")
	}
	if n := binary.BigEndian.Uint32(header[8:]); n > maxObjects {
		return tongs.Errorf(tongs.CodeTooLarge, "one push has %d objects, more than the %d that are looked at; push it in your own terminal", n, maxObjects)
	}
	return nil
}

// parse reads the commits and tags as git cat-file --batch writes them.
func (o *objects) parse(texts []byte) error {
	for len(texts) > 0 {
		head, rest, _ := bytes.Cut(texts, []byte("\n"))
		var id, kind string
		var size int
		if _, err := fmt.Sscanf(string(head), "%s %s %d", &id, &kind, &size); err != nil || size < 0 || size+1 > len(rest) {
			return tongs.Errorf(tongs.CodeInternal, "git cat-file cannot be read: %q", head)
		}
		o.add(id, kind, string(rest[:size]))
		texts = rest[size+1:]
	}
	return nil
}

// add takes what counts from a commit or a tag.
func (o *objects) add(id, kind, text string) {
	head, message, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(head) {
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); {
		case kind == "commit" && name == "parent":
			o.parents[id] = append(o.parents[id], value)
		case kind == "tag" && name == "object":
			o.tags[id] = value
		}
	}
	if kind == "commit" {
		o.subjects[id], _, _ = strings.Cut(message, "\n")
	}
}

// history is what one reference would have beyond what the remote has.
type history struct {
	commits []string // newest first
	// behind are commits of the remote that the new ones follow.
	behind map[string]bool
}

// history follows a new value to what is not in the pack.
func (o *objects) history(id string) history {
	h := history{behind: map[string]bool{}}
	for o.types[id] == "tag" {
		id = o.tags[id]
	}
	seen := map[string]bool{}
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		switch {
		case seen[at]:
			continue
		case o.types[at] != "commit":
			h.behind[at] = true
		default:
			h.commits = append(h.commits, at)
			queue = append(queue, o.parents[at]...)
		}
		seen[at] = true
	}
	return h
}

// adds reports whether a change of a reference surely keeps all that it had.
func (o *objects) adds(c command) bool {
	if zero(c.old) {
		return true
	}
	h := o.history(c.new)
	return c.new == c.old || h.behind[c.old] || slices.Contains(h.commits, c.old)
}

// belong refuses a pack with objects that belong to nothing that is pushed: nobody is shown them.
func (o *objects) belong(ctx context.Context, p *push) error {
	reached := map[string]bool{}
	roots := map[string]bool{}
	for _, c := range p.commands {
		id := c.new
		for ; o.types[id] == "tag"; id = o.tags[id] {
			reached[id] = true
		}
		for _, commit := range o.history(id).commits {
			roots[commit] = true
		}
		if o.types[id] == "tree" || o.types[id] == "blob" {
			roots[id] = true
		}
	}
	if len(roots) > 0 {
		input := strings.Join(slices.Sorted(maps.Keys(roots)), "\n") + "\n"
		list, err := ownGit(ctx, p.dir, []byte(input), "rev-list", "--objects", "--no-object-names", "--no-walk=unsorted", "--missing=allow-any", "--stdin")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(list)) {
			reached[strings.TrimSpace(line)] = true
		}
	}
	for id := range o.types {
		if !reached[id] {
			return tongs.Errorf(tongs.CodeInvalidArgs, "what git wants to push has the object %s, which belongs to nothing that is pushed", id)
		}
	}
	return nil
}
