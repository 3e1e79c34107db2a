package files

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// DeleteInput are the arguments of delete_file.
type DeleteInput struct {
	Path      string `json:"path" jsonschema:"Path in the workspace." alias:"file_path,file,filename"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"With all entries." default:"false"`
}

// DeleteOutput is the value of delete_file.
type DeleteOutput struct {
	Deleted []string `json:"deleted" jsonschema:"Paths that are gone, 200 at most."`
	Count   int      `json:"count" jsonschema:"How many are gone."`

	path string
}

// maxDeleted is how many deleted paths the value lists, maxCounted how many a plan counts, maxListed how many a
// preview lists.
const (
	maxDeleted = 200
	maxCounted = 10_000
	maxListed  = 50
)

// Present says what is gone.
func (o DeleteOutput) Present(r *tongs.Result) {
	r.Title, r.Content = o.path, fmt.Sprintf("Deleted %s.", showName(o.path))
	if o.Count > 1 {
		r.Content = fmt.Sprintf("Deleted %s with what was in it, %d entries in all.", showName(o.path), o.Count)
	}
}

func (t *tools) deleteTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[DeleteInput, DeleteOutput]{
		Spec: tongs.Spec{
			Name: "delete_file", Title: "Delete file", Toolset: Toolset,
			Description: "Delete a file, link or directory. A directory with entries needs recursive.",
			Needs:       tongs.Write,
			Hints:       tongs.Hints{Destructive: true},
		},
		Plan: planDelete,
		Run:  runDelete,
	})
}

// lookDelete resolves what would be deleted and refuses what never may be.
func lookDelete(v tongs.FileView, name string) (info tongs.FileInfo, err error) {
	p, err := v.ResolveEntry(name)
	if err != nil {
		return info, err
	}
	if err := notMovable(p, "deleted"); err != nil {
		return info, err
	}
	return v.Stat(p)
}

// notMovable refuses roots and repositories' own directories.
func notMovable(p tongs.Path, done string) error {
	switch {
	case p.Rel == "." && p.Root == tongs.WorkspaceRoot:
		return tongs.Errorf(tongs.CodeInvalidPath, "the workspace itself cannot be %s; name what is in it", done)
	case p.Rel == ".":
		return tongs.Errorf(tongs.CodeInvalidPath, "%s is a root and cannot be %s; name what is in it", p, done)
	case strings.EqualFold(path.Base(p.Rel), ".git"):
		return tongs.Errorf(tongs.CodeInvalidPath, "%s holds the history of a repository and cannot be %s", p, done)
	}
	return nil
}

func planDelete(ctx context.Context, v *tongs.View, in DeleteInput) (*tongs.Plan, error) {
	info, err := lookDelete(v.Files, in.Path)
	if err != nil {
		return nil, err
	}
	version, err := v.Files.Version(info.Path)
	if err != nil {
		return nil, err
	}
	plan := &tongs.Plan{
		Effects: []tongs.Effect{{Kind: tongs.EffectDelete, Path: info.Path, Version: version, NoGrant: true}},
		Default: decision(tongs.Ask), Kind: tongs.KindDestructive,
		Message: fmt.Sprintf("Delete the %s %s", typeName(info.Type), showPath(info.Path)),
	}
	if info.Type != tongs.FileDirectory {
		return plan, nil
	}
	below, err := lookBelow(ctx, v.Files, info.Path)
	if err != nil {
		return nil, err
	}
	if below.total() == 0 {
		return plan, nil
	}
	if !in.Recursive {
		return nil, tongs.Errorf(tongs.CodeNotEmpty, "%s is not empty: %s in it; set recursive to delete it with everything in it",
			info.Path, below).With("count", below.total())
	}
	plan.Message = fmt.Sprintf("Delete the directory %s with %s in it", showPath(info.Path), below)
	plan.Preview = func(context.Context) (string, error) { return below.preview(info.Path), nil }
	return plan, nil
}

func typeName(t tongs.FileType) string {
	switch t {
	case tongs.FileSymlink:
		return "link"
	case tongs.FileOther:
		return "special file"
	default:
		return string(t)
	}
}

// below is what is in a directory, counted up to a bound.
type below struct {
	files, dirs int
	bytes       int64
	names       []string
	partial     bool
}

func (b *below) total() int { return b.files + b.dirs }

func (b *below) String() string {
	s := fmt.Sprintf("%s and %s", count(b.files, "file"), directories(b.dirs))
	if b.partial {
		s = "more than " + s
	}
	return s
}

func (b *below) preview(root tongs.Path) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s, %s\n", showPath(root), b, text.Size(b.bytes))
	for _, name := range b.names {
		out.WriteString("- " + name + "\n")
	}
	if left := b.total() - len(b.names); left > 0 {
		fmt.Fprintf(&out, "[%d more]\n", left)
	}
	return out.String()
}

// lookBelow counts what is below a directory.
func lookBelow(ctx context.Context, v tongs.FileView, root tongs.Path) (*below, error) {
	b := &below{}
	stack := []tongs.Path{root}
	for len(stack) > 0 && !b.partial {
		dir := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for info, err := range v.ReadDir(dir) {
			if err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if b.partial = b.total() >= maxCounted; b.partial {
				break
			}
			b.add(info)
			if info.Type == tongs.FileDirectory {
				stack = append(stack, info.Path)
			}
		}
	}
	slices.Sort(b.names)
	return b, nil
}

func (b *below) add(info tongs.FileInfo) {
	name := showPath(info.Path)
	if info.Type == tongs.FileDirectory {
		b.dirs++
		name += "/"
	} else {
		b.files++
		b.bytes += info.Size
	}
	if len(b.names) < maxListed {
		b.names = append(b.names, name)
	}
}

func runDelete(ctx context.Context, env *tongs.Env, in DeleteInput) (out DeleteOutput, err error) {
	info, err := lookDelete(env.Files, in.Path)
	if err != nil {
		return out, err
	}
	gone, err := env.Files.Remove(ctx, info.Path, in.Recursive)
	if err != nil && len(gone) == 0 {
		return out, err
	}
	// What is gone before a failure is told beside it.
	out = DeleteOutput{Deleted: []string{}, Count: len(gone), path: info.Path.String()}
	for _, p := range gone[:min(len(gone), maxDeleted)] {
		out.Deleted = append(out.Deleted, p.String())
	}
	return out, err
}
