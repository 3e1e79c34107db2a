package files

import (
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
	Path          string `json:"path,omitempty" jsonschema:"Directory to list." default:"." alias:"directory,dir,folder"`
	Recursive     bool   `json:"recursive,omitempty" jsonschema:"List what is in subdirectories too." default:"false"`
	IncludeHidden bool   `json:"includeHidden,omitempty" jsonschema:"List names that start with a dot." default:"false"`
	Limit         int    `json:"limit,omitempty" jsonschema:"Most entries to list." min:"1"`
}

// ListOutput is the value of list_directory.
type ListOutput struct {
	Path    string  `json:"path"`
	Entries []Entry `json:"entries" jsonschema:"Directories first, then by name."`
	Left    int     `json:"left" jsonschema:"How many entries were counted but not listed."`

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
			Description: fmt.Sprintf("List a directory, directories first: up to %d entries, or limit (%d at most). "+
				"Symbolic links are not followed.", t.opt.ListEntries, t.opt.ListMax),
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
	if err := l.walk(ctx); err != nil {
		return out, fault(err)
	}
	return l.output(t.opt.ListMax), nil
}

const (
	// maxWalked bounds the entries that are counted in a recursive listing, maxQueued the directories that wait.
	maxWalked = 200_000
	maxQueued = 10_000
)

// listing collects the first entries of a directory, level by level, in memory bounded by its limit.
type listing struct {
	files tongs.FileView
	root  tongs.Path
	in    ListInput
	limit int

	entries []Entry
	walked  int
	hidden  int
	failed  []string
	// partial says that not all was counted.
	partial bool
}

// walk goes through the directories breadth first, so that a large one does not hide those beside it.
func (l *listing) walk(ctx context.Context) error {
	queue := []string{""}
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		kept, subdirs, err := l.directory(ctx, dir)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if dir == "" {
				return err
			}
			l.failed = append(l.failed, dir)
		}
		l.entries = append(l.entries, kept...)
		if room := maxQueued - len(queue); len(subdirs) > room {
			subdirs, l.partial = subdirs[:room], true
		}
		queue = append(queue, subdirs...)
		if l.walked >= maxWalked && len(queue) > 0 {
			l.partial = true
			break
		}
	}
	slices.SortFunc(l.entries, inTreeOrder)
	return nil
}

// directory returns the entries of one directory that still fit, best first, and its subdirectories.
func (l *listing) directory(ctx context.Context, dir string) (kept []Entry, subdirs []string, err error) {
	best := entryHeap{}
	room := l.limit - len(l.entries)
	for info, err := range l.files.ReadDir(l.path(dir)) {
		if err != nil {
			return best, subdirs, err
		}
		if l.walked%256 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		name := path.Base(info.Path.Rel)
		if strings.HasPrefix(name, ".") && name != "." && !l.in.IncludeHidden {
			l.hidden++
			continue
		}
		l.walked++
		name = path.Join(dir, name)
		if info.Path.Root != l.root.Root {
			name = info.Path.String() // another root is mounted here: it is listed by its own name, and not entered
		} else if info.Type == tongs.FileDirectory && l.in.Recursive {
			if l.partial = l.partial || len(subdirs) == maxQueued; !l.partial {
				subdirs = append(subdirs, name)
			}
		}
		if room == 0 {
			continue
		}
		e := Entry{Name: name, Type: info.Type, Size: info.Size, Modified: info.Modified.UTC(), Target: info.Target}
		switch {
		case len(best) < room:
			heap.Push(&best, e)
		case inTreeOrder(e, best[0]) < 0:
			best[0] = e
			heap.Fix(&best, 0)
		}
	}
	slices.Sort(subdirs)
	return best, subdirs, nil
}

func (l *listing) path(dir string) tongs.Path {
	if dir == "" {
		return l.root
	}
	return tongs.Path{Root: l.root.Root, Rel: path.Join(l.root.Rel, dir)}
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

// entryHeap has the entry that is last in order on top.
type entryHeap []Entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return inTreeOrder(h[i], h[j]) > 0 }
func (h entryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *entryHeap) Push(x any)        { *h = append(*h, x.(Entry)) }
func (h *entryHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (l *listing) output(most int) ListOutput {
	out := ListOutput{Path: l.root.String(), Entries: l.entries, Left: l.walked - len(l.entries), metadata: map[string]any{}}
	if out.Entries == nil {
		out.Entries = []Entry{}
	}
	var b strings.Builder
	for _, e := range l.entries {
		b.WriteString(showEntry(e) + "\n")
	}
	if l.walked == 0 {
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
	if l.hidden > 0 {
		out.metadata["hidden"] = l.hidden
		fmt.Fprintf(&b, "[%d hidden; includeHidden shows them]\n", l.hidden)
	}
	if len(l.failed) > 0 {
		out.metadata["unreadable"] = l.failed[:min(len(l.failed), 20)]
		fmt.Fprintf(&b, "[%s could not be read, such as %s]\n", directories(len(l.failed)), showName(l.failed[0]))
	}
	out.shown = strings.TrimSuffix(b.String(), "\n")
	return out
}

func directories(n int) string {
	if n == 1 {
		return "1 directory"
	}
	return fmt.Sprintf("%d directories", n)
}

func showEntry(e Entry) string {
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
