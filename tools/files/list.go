package files

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// ListInput are the arguments of list_directory.
type ListInput struct {
	Path          string `json:"path,omitempty" jsonschema:"Path in the workspace." default:"." alias:"directory,dir,folder"`
	Recursive     bool   `json:"recursive,omitempty" jsonschema:"Subdirectories too." default:"false"`
	Format        string `json:"format,omitempty" jsonschema:"Of a recursive listing." enum:"tree,flat" default:"tree"`
	IncludeHidden bool   `json:"includeHidden,omitempty" jsonschema:"Names with a dot too." default:"false"`
	NoIgnore      bool   `json:"noIgnore,omitempty" jsonschema:"Also ignored files." default:"false"`
	Details       bool   `json:"details,omitempty" jsonschema:"Exact sizes in bytes, and times." default:"false"`
	Limit         int    `json:"limit,omitempty" jsonschema:"Most entries." min:"1"`
}

// ListOutput is the value of list_directory.
type ListOutput struct {
	Path    string  `json:"path"`
	Entries []Entry `json:"entries" jsonschema:"Directories first, then by name."`
	Left    int     `json:"left" jsonschema:"How many entries were counted but not listed."`
	Hidden  int     `json:"hidden" jsonschema:"How many names that start with a dot were left out."`
	Ignored int     `json:"ignored,omitempty" jsonschema:"How many entries ignore files left out of a recursive listing."`

	shown    string
	metadata map[string]any
}

// Entry is an entry of a directory. Name is relative to the listed directory.
type Entry struct {
	Name     string         `json:"name"`
	Type     tongs.FileType `json:"type" enum:"file,directory,symlink,other"`
	Size     int64          `json:"size"`
	Modified time.Time      `json:"modified"`
	Target   string         `json:"target,omitempty" jsonschema:"Where a symbolic link points."`
}

// Present lists the entries, one a line.
func (o ListOutput) Present(r *tongs.Result) {
	r.Title, r.Content, r.Metadata = o.Path, o.shown, o.metadata
}

func (t *tools) listTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[ListInput, ListOutput]{
		Spec: tongs.Spec{
			Name: "list_directory", Title: "List directory", Aliases: []string{"list", "list_files"}, Toolset: Toolset, Complex: true,
			Description: fmt.Sprintf("List a directory: up to %d entries, or limit (%d at most). "+
				"Recursive leaves out ignored files.", t.opt.ListEntries, t.opt.ListMax),
			Needs: tongs.Read, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, Idempotent: true},
		},
		Plan: func(_ context.Context, v *tongs.View, in ListInput) (*tongs.Plan, error) {
			p, err := v.Files.Resolve(orDot(in.Path))
			if err != nil {
				return nil, err
			}
			return planRead(v.Files, p, "List "+showPath(p)), nil
		},
		Run: t.list,
	})
}

func orDot(name string) string {
	if name == "" {
		return "."
	}
	return name
}

func (t *tools) list(ctx context.Context, env *tongs.Env, in ListInput) (out ListOutput, err error) {
	p, err := env.Files.Resolve(orDot(in.Path))
	if err != nil {
		return out, err
	}
	info, err := env.Files.Stat(p)
	if err != nil {
		return out, withNear(ctx, env.Files, p, err)
	}
	if info.Type != tongs.FileDirectory {
		return out, tongs.Errorf(tongs.CodeInvalidPath,
			"%s is a %s, not a directory; read_file shows it, file_info describes it", p, typeName(info.Type))
	}
	limit := t.opt.ListEntries
	if in.Limit > 0 {
		limit = min(in.Limit, t.opt.ListMax)
	}
	l := &listing{files: env.Files, root: p, in: in, limit: limit}
	if in.Recursive {
		err = l.recursive(ctx, env.Files)
	} else {
		err = l.plain(ctx)
	}
	if err != nil {
		return out, fault(err)
	}
	return l.output(t.opt.ListMax), nil
}

// listing collects the first entries of a directory, in memory bounded by its limit.
type listing struct {
	files tongs.FileView
	root  tongs.Path
	in    ListInput
	limit int

	entries []Entry
	// walked is how many entries were counted, hidden and ignored are how many were left out, and why. partial says that
	// not all was counted.
	walked, hidden, ignored int
	partial                 bool
	// withheld is what is not for this call. failed are some of the directories that could not be read, unread is how
	// many there are.
	withheld string
	failed   []string
	unread   int
}

// plain lists the directory alone. It shows every name there is.
func (l *listing) plain(ctx context.Context) error {
	best := entryHeap{}
	for info, err := range l.files.ReadDir(l.root) {
		if err != nil {
			return err
		}
		if l.walked%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		name := path.Base(info.Path.Rel)
		if strings.HasPrefix(name, ".") && name != "." && !l.in.IncludeHidden {
			l.hidden++
			continue
		}
		l.walked++
		if info.Path.Root != l.root.Root {
			name = info.Path.String() // another root is mounted here: it is listed by its own name
		}
		best.offer(entryOf(name, info), l.limit)
	}
	l.entries = best
	slices.SortFunc(l.entries, inTreeOrder)
	return nil
}

func entryOf(name string, info tongs.FileInfo) Entry {
	return Entry{Name: name, Type: info.Type, Size: info.Size, Modified: info.Modified.UTC(), Target: info.Target}
}

// inTreeOrder puts directories before the other entries beside them, then goes by name; what is in a directory
// follows it.
func inTreeOrder(a, b Entry) int {
	an, bn := a.Name, b.Name
	for {
		aHead, aRest, aIn := strings.Cut(an, "/")
		bHead, bRest, bIn := strings.Cut(bn, "/")
		if aHead != bHead {
			aDir, bDir := aIn || a.Type == tongs.FileDirectory, bIn || b.Type == tongs.FileDirectory
			if aDir != bDir {
				if aDir {
					return -1
				}
				return 1
			}
			return strings.Compare(aHead, bHead)
		}
		if !aIn || !bIn {
			return strings.Compare(aRest, bRest)
		}
		an, bn = aRest, bRest
	}
}

// byLevel puts what is nearer to the listed directory first, so that a large directory does not hide those beside it.
func byLevel(a, b Entry) int {
	if c := cmp.Compare(strings.Count(a.Name, "/"), strings.Count(b.Name, "/")); c != 0 {
		return c
	}
	return inTreeOrder(a, b)
}

// entryHeap has the entry that is last in the order of levels on top.
type entryHeap []Entry

// offer takes up an entry if it is among the first ones, of as many as limit.
func (h *entryHeap) offer(e Entry, limit int) {
	switch {
	case len(*h) < limit:
		heap.Push(h, e)
	case limit > 0 && byLevel(e, (*h)[0]) < 0:
		(*h)[0] = e
		heap.Fix(h, 0)
	}
}

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return byLevel(h[i], h[j]) > 0 }
func (h entryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *entryHeap) Push(x any)        { *h = append(*h, x.(Entry)) }
func (h *entryHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (l *listing) output(most int) ListOutput {
	out := ListOutput{
		Path: l.root.String(), Entries: l.entries, Left: l.walked - len(l.entries), Hidden: l.hidden, Ignored: l.ignored, metadata: map[string]any{},
	}
	if out.Entries == nil {
		out.Entries = []Entry{}
	}
	var b strings.Builder
	if l.in.Recursive && l.in.Format != "flat" {
		showTree(&b, l.entries, l.in.Details)
	} else {
		for _, e := range l.entries {
			b.WriteString(showEntry(e, l.in.Details) + "\n")
		}
	}
	if l.walked == 0 && l.withheld == "" {
		fmt.Fprintf(&b, "[%s is empty]\n", l.root)
	}
	if out.Left > 0 {
		left, advice := strconv.Itoa(out.Left), "list a subdirectory to see them"
		if l.partial {
			left = "more than " + left
		}
		if l.limit < most {
			advice = fmt.Sprintf("set limit (%d at most), or list a subdirectory", most)
		}
		fmt.Fprintf(&b, "[%d of these shown; %s left; %s]\n", len(l.entries), left, advice)
	}
	l.remarks(&b, &out)
	out.shown = strings.TrimSuffix(b.String(), "\n")
	return out
}

// remarks says what was left out.
func (l *listing) remarks(b *strings.Builder, out *ListOutput) {
	if l.hidden > 0 {
		out.metadata["hidden"] = l.hidden
		fmt.Fprintf(b, "[%d hidden; includeHidden shows them]\n", l.hidden)
	}
	if l.ignored > 0 {
		out.metadata["ignored"] = l.ignored
		fmt.Fprintf(b, "[%d ignored by .gitignore and such; noIgnore shows them]\n", l.ignored)
	}
	if l.withheld != "" {
		out.metadata["withheld"] = l.withheld
		fmt.Fprintf(b, "[left out: %s, as secrets or what a rule covers; name one to ask for it]\n", l.withheld)
	}
	if l.unread > 0 {
		out.metadata["unreadable"] = l.failed
		fmt.Fprintf(b, "[%s could not be read, such as %s]\n", directories(l.unread), showName(l.failed[0]))
	}
}

func directories(n int) string {
	if n == 1 {
		return "1 directory"
	}
	return fmt.Sprintf("%d directories", n)
}

// showEntry is an entry on its line, with its size in bytes and time of change where details are wanted.
func showEntry(e Entry, details bool) string {
	if details {
		short := showEntry(e, false)
		if e.Type == tongs.FileRegular {
			short = showName(e.Name)
		}
		return fmt.Sprintf("%s (%d bytes, %s)", short, e.Size, e.Modified.Format(time.RFC3339))
	}
	switch e.Type {
	case tongs.FileDirectory:
		return showName(e.Name) + "/"
	case tongs.FileSymlink:
		return showName(e.Name) + " → " + showName(e.Target)
	case tongs.FileRegular:
		return fmt.Sprintf("%s (%s)", showName(e.Name), text.Size(e.Size))
	default:
		return showName(e.Name) + " (special file)"
	}
}

// showPath is showName of a path.
func showPath(p tongs.Path) string { return showName(p.String()) }

// showName quotes a name that would not stay on its line or show as it is.
func showName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(name)
	}
	return name
}
