package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitrepo"
)

// Entry is the head of one change that was made.
type Entry struct {
	// ID sorts by time.
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Call    string    `json:"call,omitempty"`
	Session string    `json:"session,omitempty"`
	Agents  []string  `json:"agents,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	// Client is the agent program whose own tool made the change, Prompt identifies what it was told to do. Of changes that were
	// seen while none was at work, Outside is set: only whoever names them undoes them.
	Client  string `json:"client,omitempty"`
	Prompt  string `json:"prompt,omitempty"`
	Outside bool   `json:"outside,omitempty"`
	// Roots are the directories on this machine of the roots that its paths are in.
	Roots map[string]string `json:"roots"`
	// Undoes are the entries that it took back; Redo says that those were such entries themselves.
	Undoes []Undone `json:"undoes,omitempty"`
	Redo   bool     `json:"redo,omitempty"`
	// Changes is how many paths it changed, Gone how many files and links it replaced, removed or moved.
	Changes int `json:"changes"`
	Gone    int `json:"gone,omitempty"`
	// Repositories are the git directories in which git recorded its work.
	Repositories []Repository `json:"repositories,omitempty"`
	// Slight says that there is nothing to take back: git keeps the same refs elsewhere, say.
	Slight bool `json:"slight,omitempty"`
	// Unasked says that nobody was asked about it, since it can be undone.
	Unasked bool `json:"unasked,omitempty"`
	// Whole are those of its changes that are made only if they are undoable: where one turns out not to be, Commit returns
	// a *workspace.UnkeptError and changes nothing.
	Whole []tongs.Effect `json:"-"`
}

// Repository is a git directory with what an entry did there.
type Repository struct {
	Dir tongs.Path `json:"dir"`
	// Does tells it in sentences, the gravest first.
	Does []string `json:"does,omitempty"`
	// Refs are the refs that got other values, which the journal finds out itself. They are taken back by value, wherever git has
	// them by then.
	Refs []gitrepo.RefChange `json:"refs,omitempty"`
	// Heads are what the worktrees have checked out, by their place below the directory, whose index or HEAD the entry changed. Whoever
	// checks out something else since has an index that fits it.
	Heads map[string]string `json:"heads,omitempty"`
	// Listed says that more changed than what git records, and that a person saw the files and not sentences.
	Listed bool `json:"listed,omitempty"`
	// False says that objects came that are not what their names say, or may not be: they do not stay.
	False bool `json:"false,omitempty"`
	// Slight says that nothing there has another meaning than before.
	Slight bool `json:"slight,omitempty"`
}

// Undone is an entry that another one took back, only a part of it where Part is set.
type Undone struct {
	ID   string `json:"id"`
	Part bool   `json:"part,omitempty"`
}

// Type is what is at a path.
type Type string

// The types. Other is a FIFO, a socket or a device, which cannot be brought back.
const (
	Absent Type = ""
	File   Type = "file"
	Dir    Type = "dir"
	Link   Type = "link"
	Other  Type = "other"
)

// State is what was or is at a path. The zero State is nothing.
type State struct {
	Type Type `json:"type,omitempty"`
	// Mode holds the permissions and the set-user-ID, set-group-ID and sticky bits, of files and directories.
	Mode fs.FileMode `json:"mode,omitempty"`
	Size int64       `json:"size,omitempty"`
	// Hash is the SHA-256 of a file's content, in hex. Empty means that it is not known.
	Hash string `json:"hash,omitempty"`
	// Index identifies what the index of a git repository lists. Two that list the same are the same.
	Index string `json:"index,omitempty"`
	// Target is where a link points.
	Target string `json:"target,omitempty"`
	// Modified is a file's modification time in nanoseconds since 1970. States that differ only there are the same.
	Modified int64 `json:"modified,omitempty"`
	// Owner is "UID:GID" where it is not the user who made the change.
	Owner string `json:"owner,omitempty"`
	// Lost says why the content was not kept; then it cannot be brought back.
	Lost string `json:"lost,omitempty"`
}

// Same reports whether two states are the same to a reader: type, permissions and content.
func (s State) Same(o State) bool { return s.differs(o) == "" }

// differs says in words how o is not s, "" where it is the same.
func (s State) differs(o State) string {
	switch {
	case s.Type == Absent && o.Type != Absent:
		return "it exists now"
	case o.Type == Absent && s.Type != Absent:
		return "it is gone"
	case s.Type != o.Type:
		return fmt.Sprintf("it was a %s and is a %s", s.Type, o.Type)
	case s.Target != o.Target:
		return fmt.Sprintf("it pointed to %q and points to %q", s.Target, o.Target)
	case s.Index != "" && s.Index == o.Index:
		return ""
	case s.Size != o.Size:
		return fmt.Sprintf("its size was %d and is %d", s.Size, o.Size)
	case s.Hash != "" && o.Hash != "" && s.Hash != o.Hash:
		return "its content changed"
	case (s.Hash == "" || o.Hash == "") && s.Type == File && s.Modified != o.Modified:
		return "it was modified"
	case s.Mode != o.Mode:
		return fmt.Sprintf("its mode was %s and is %s", s.Mode, o.Mode)
	}
	return ""
}

// Change is what an entry did to one path. The changes of an entry are in the order in which they were made: what went,
// the innermost first; what was moved, all at once; what came, the outermost first.
type Change struct {
	Path   tongs.Path `json:"path"`
	Before State      `json:"before,omitzero"`
	After  State      `json:"after,omitzero"`
	// From is where the file or the directory, with all that was in it, was moved from. Before is absent then: what was
	// in its place went by a change of its own.
	From *tongs.Path `json:"from,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c Change) MarshalJSON() ([]byte, error) {
	type bare Change
	out := struct {
		bare
		Bytes map[string][]byte `json:"bytes,omitempty"`
	}{bare: bare(c)}
	for name, s := range c.names() {
		if !utf8.ValidString(*s) {
			if out.Bytes == nil {
				out.Bytes = map[string][]byte{}
			}
			out.Bytes[name] = []byte(*s)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Change) UnmarshalJSON(data []byte) error {
	type bare Change
	in := struct {
		*bare
		Bytes map[string][]byte `json:"bytes"`
	}{bare: (*bare)(c)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	names := c.names()
	for name, bytes := range in.Bytes {
		if s := names[name]; s != nil {
			*s = string(bytes)
		}
	}
	return nil
}

// names are what may hold any bytes: JSON cannot write those that are not UTF-8, so that they are stored beside.
func (c *Change) names() map[string]*string {
	names := map[string]*string{"path": &c.Path.Rel, "before": &c.Before.Target, "after": &c.After.Target}
	if c.From != nil {
		names["from"] = &c.From.Rel
	}
	return names
}

// plainChanges is how many changes an entry may have that is stored as plain text.
const plainChanges = 64

// encode writes an entry.
func encode(w io.Writer, e *Entry, changes []Change) error {
	e.Changes, e.Gone = len(changes), 0
	for i := range changes {
		if c := &changes[i]; c.From != nil || c.Before.Type != Absent && c.Before.Type != Dir {
			e.Gone++
		}
	}
	if len(changes) <= plainChanges {
		return encodeLines(w, e, changes)
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return err
	}
	return errors.Join(encodeLines(z, e, changes), z.Close())
}

func encodeLines(w io.Writer, e *Entry, changes []Change) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	for i := range changes {
		if err := enc.Encode(&changes[i]); err != nil {
			return err
		}
	}
	return nil
}

var errDamaged = errors.New("it is damaged")

// entryReader reads an entry line by line.
type entryReader struct {
	file *os.File
	z    *zstd.Decoder
	dec  *json.Decoder
	head Entry
}

func openEntry(name string) (*entryReader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &entryReader{file: f}
	in := bufio.NewReader(f)
	magic, _ := in.Peek(4)
	r.dec = json.NewDecoder(in)
	if bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		if r.z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true)); err != nil {
			r.close()
			return nil, err
		}
		r.dec = json.NewDecoder(r.z)
	}
	if err := r.dec.Decode(&r.head); err != nil {
		r.close()
		return nil, fmt.Errorf("journal entry %s: %w: %w", filepath.Base(name), errDamaged, err)
	}
	return r, nil
}

func (r *entryReader) close() {
	if r.z != nil {
		r.z.Close()
	}
	_ = r.file.Close()
}

// changes yields the changes in order.
func (r *entryReader) changes(yield func(Change, error) bool) {
	for n := 0; ; n++ {
		var c Change
		err := r.dec.Decode(&c)
		if errors.Is(err, io.EOF) && n == r.head.Changes {
			return
		}
		if err != nil {
			yield(c, fmt.Errorf("journal entry %s: %w: %w", r.head.ID, errDamaged, err))
			return
		}
		if !yield(c, nil) {
			return
		}
	}
}

// Filter selects entries. Zero fields select all.
type Filter struct {
	// Call, Session and ID must be equal.
	Call, Session, ID string
	// Since is inclusive.
	Since time.Time
	// Top is the directory on this machine of the workspace whose changes are meant.
	Top string
	// Limit is how many at most.
	Limit int
}

func (f Filter) match(e *Entry) bool {
	return (f.Call == "" || f.Call == e.Call) && (f.Session == "" || f.Session == e.Session) &&
		(f.ID == "" || f.ID == e.ID) && !e.Time.Before(f.Since) &&
		(f.Top == "" || e.Roots[tongs.WorkspaceRoot] == f.Top)
}

// List returns the heads of the entries, newest first.
func (j *Journal) List(f Filter) (list []Entry, err error) {
	for e, err := range j.entries(f) {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if f.Limit > 0 && len(list) == f.Limit {
			break
		}
	}
	return list, nil
}

// sinceSlack is by how much the order of names and that of times may differ, between processes and clocks that are set.
const sinceSlack = time.Hour

// entries yields the heads that match, newest first.
func (j *Journal) entries(f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		names, err := j.names()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, name := range slices.Backward(names) {
			if f.ID != "" && f.ID != name {
				continue
			}
			r, err := openEntry(j.file("done", name))
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) {
				continue // collected meanwhile, or cut by a power failure
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("journal: %w", err))
				return
			}
			head := r.head
			r.close()
			if !f.Since.IsZero() && head.Time.Before(f.Since.Add(-sinceSlack)) {
				return // names sort by time, and what is older is not meant
			}
			if f.match(&head) && !yield(head, nil) {
				return
			}
		}
	}
}

// names returns the IDs of all entries, oldest first.
func (j *Journal) names() ([]string, error) {
	list, err := os.ReadDir(j.file("done"))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	names := make([]string, 0, len(list))
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "e_") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Changes yields the changes of an entry, in the order in which they were made.
func (j *Journal) Changes(id string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if id == "" || strings.ContainsAny(id, `/\`) || strings.HasPrefix(id, ".") {
			yield(Change{}, fmt.Errorf("journal: %q is not the name of an entry", id))
			return
		}
		r, err := openEntry(j.file("done", id))
		if err != nil {
			yield(Change{}, fmt.Errorf("journal: %w", err))
			return
		}
		defer r.close()
		r.changes(yield)
	}
}
