package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
)

// StatusInput are the arguments of git_status.
type StatusInput struct{}

// File is a file that differs.
type File struct {
	Path   string `json:"path"`
	From   string `json:"from,omitempty" jsonschema:"Its former path, if it was renamed or copied."`
	Change string `json:"change" enum:"modified,added,deleted,renamed,copied,typechange,conflict,untracked"`
}

// StatusOutput is the value of git_status.
type StatusOutput struct {
	Branch    string `json:"branch,omitempty" jsonschema:"Empty if HEAD is detached."`
	Commit    string `json:"commit,omitempty" jsonschema:"Empty if there is no commit yet."`
	Upstream  string `json:"upstream,omitempty"`
	Ahead     int    `json:"ahead" jsonschema:"Commits that the upstream does not have."`
	Behind    int    `json:"behind" jsonschema:"Commits that only the upstream has."`
	State     string `json:"state,omitempty" jsonschema:"What is in progress: merge, rebase, am, cherry-pick, revert or bisect."`
	Staged    []File `json:"staged"`
	Changed   []File `json:"changed" jsonschema:"Not staged."`
	Conflicts []File `json:"conflicts"`
	Untracked []File `json:"untracked"`
	Left      int    `json:"left,omitempty" jsonschema:"How many more files differ than are listed."`
}

// maxFiles is how many files a value lists.
const maxFiles = 500

func (s *set) statusTool() (tongs.Tool, error) {
	return define(s, tongs.Spec{
		Name: "git_status", Title: "Git status", Description: "Shows branch, upstream, what is in progress and which files differ.",
		Hints: tongs.Hints{ReadOnly: true},
	}, func(StatusInput) (call, error) {
		return call{runs: []run{
			{"status", "--porcelain=v2", "--branch", "-z"},
			{"status", "--long", "--untracked-files=no"},
		}, message: "Show the status of the repository", kind: tongs.KindRead}, nil
	}, func(ctx context.Context, g *session, _ StatusInput) (out StatusOutput, err error) {
		listed, err := g.git(ctx, 0)
		if err != nil {
			return out, err
		}
		told, err := g.git(ctx, 1)
		if err != nil {
			return out, err
		}
		out.read(listed.String())
		out.State = inProgress(told.String())
		return out, nil
	})
}

// states are what git status says while something is in progress.
var states = []struct{ says, state string }{
	{"rebase in progress", "rebase"},
	{"You are currently rebasing", "rebase"},
	{"You are currently editing a commit while rebasing", "rebase"},
	{"You are currently splitting a commit while rebasing", "rebase"},
	{"You are in the middle of an am session", "am"},
	{"cherry-pick in progress", "cherry-pick"},
	{"You are currently cherry-picking", "cherry-pick"},
	{"revert in progress", "revert"},
	{"You are currently reverting", "revert"},
	{"You are currently bisecting", "bisect"},
	{"you are still merging", "merge"},
	{"You have unmerged paths", "merge"},
}

// inProgress finds what is in progress. The lines about it come before the files, which are indented.
func inProgress(said string) string {
	for _, s := range states {
		for line := range strings.Lines(said) {
			if !strings.HasPrefix(line, "\t") && strings.Contains(line, s.says) {
				return s.state
			}
		}
	}
	return ""
}

// changes are the letters of git.
var changes = map[byte]string{'M': "modified", 'A': "added", 'D': "deleted", 'R': "renamed", 'C': "copied", 'T': "typechange", 'U': "conflict"}

// read takes up what git status --porcelain=v2 -z says.
func (o *StatusOutput) read(text string) {
	o.Staged, o.Changed, o.Conflicts, o.Untracked = []File{}, []File{}, []File{}, []File{}
	records := strings.Split(text, "\x00")
	for i := 0; i < len(records); i++ {
		record := records[i]
		kind, rest, _ := strings.Cut(record, " ")
		switch kind {
		case "#":
			o.header(rest)
		case "?":
			o.add(&o.Untracked, File{Path: rest, Change: "untracked"})
		case "u":
			if f := strings.SplitN(record, " ", 11); len(f) == 11 {
				o.add(&o.Conflicts, File{Path: f[10], Change: "conflict"})
			}
		case "1", "2":
			n, from := 9, ""
			if kind == "2" && i+1 < len(records) {
				n, from = 10, records[i+1]
				i++
			}
			f := strings.SplitN(record, " ", n)
			if len(f) != n || len(f[1]) != 2 {
				continue
			}
			for at, list := range []*[]File{&o.Staged, &o.Changed} {
				if change := changes[f[1][at]]; change != "" {
					file := File{Path: f[n-1], Change: change}
					if change == "renamed" || change == "copied" {
						file.From = from
					}
					o.add(list, file)
				}
			}
		}
	}
}

func (o *StatusOutput) add(list *[]File, f File) {
	if len(o.Staged)+len(o.Changed)+len(o.Conflicts)+len(o.Untracked) >= maxFiles {
		o.Left++
		return
	}
	*list = append(*list, f)
}

func (o *StatusOutput) header(text string) {
	name, value, _ := strings.Cut(text, " ")
	switch name {
	case "branch.oid":
		if value != "(initial)" {
			o.Commit = value
		}
	case "branch.head":
		if value != "(detached)" {
			o.Branch = value
		}
	case "branch.upstream":
		o.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		o.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		o.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// Present shows the status as text.
func (o StatusOutput) Present(r *tongs.Result) {
	var b strings.Builder
	switch {
	case o.Branch == "":
		fmt.Fprintf(&b, "HEAD is detached at %s", short(o.Commit))
	case o.Commit == "":
		fmt.Fprintf(&b, "on %s, no commits yet", shownPath(o.Branch))
	default:
		fmt.Fprintf(&b, "on %s at %s", shownPath(o.Branch), short(o.Commit))
	}
	if o.Upstream != "" {
		fmt.Fprintf(&b, ", %d ahead of %s, %d behind", o.Ahead, shownPath(o.Upstream), o.Behind)
	}
	if o.State != "" {
		fmt.Fprintf(&b, "; a %s is in progress", o.State)
	}
	b.WriteString("\n")
	r.Title = strings.TrimSpace(b.String())
	for _, part := range []struct {
		name  string
		files []File
	}{{"staged", o.Staged}, {"not staged", o.Changed}, {"conflicts", o.Conflicts}, {"untracked", o.Untracked}} {
		if len(part.files) > 0 {
			b.WriteString(part.name + ":\n")
		}
		for _, f := range part.files {
			b.WriteString("  " + f.Change + " " + shownPath(f.Path))
			if f.From != "" {
				b.WriteString(" from " + shownPath(f.From))
			}
			b.WriteString("\n")
		}
	}
	if o.Left > 0 {
		fmt.Fprintf(&b, "%d more files differ\n", o.Left)
	}
	if len(o.Staged)+len(o.Changed)+len(o.Conflicts)+len(o.Untracked) == 0 {
		b.WriteString("nothing differs\n")
	}
	r.Content = b.String()
}

func short(id string) string { return id[:min(len(id), 10)] }
