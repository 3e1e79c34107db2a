package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
)

// DiffInput are the arguments of git_diff.
type DiffInput struct {
	From   string   `json:"from,omitempty" jsonschema:"Commit to compare with the work tree, or with to. Default: the index."`
	To     string   `json:"to,omitempty" jsonschema:"Commit on the other side; needs from."`
	Staged bool     `json:"staged,omitempty" jsonschema:"Compare the index with from (default HEAD)." alias:"cached"`
	Paths  []string `json:"paths,omitempty" jsonschema:"Only these files and directories."`
	Stat   bool     `json:"stat,omitempty" jsonschema:"Only count lines; no diff."`
}

// Count is how much of a file differs.
type Count struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty" jsonschema:"Its former path."`
	Added   int    `json:"added" jsonschema:"Lines."`
	Removed int    `json:"removed" jsonschema:"Lines."`
	Binary  bool   `json:"binary,omitempty"`
}

// DiffOutput is the value of git_diff.
type DiffOutput struct {
	Files   []Count `json:"files"`
	Left    int     `json:"left,omitempty" jsonschema:"How many more files differ than are listed."`
	Added   int     `json:"added" jsonschema:"Lines of all files."`
	Removed int     `json:"removed" jsonschema:"Lines of all files."`
	Diff    string  `json:"diff,omitempty" jsonschema:"Unified diff. A long one is cut, and says where the rest is."`
	Bytes   int64   `json:"bytes,omitempty" jsonschema:"Size of the whole diff."`
}

// exactDiff has git show what is there, whatever the settings: no programs of theirs, no colours, the usual prefixes.
var exactDiff = run{"--no-ext-diff", "--no-textconv", "--no-color", "-M"}

func (in DiffInput) runs() (call, error) {
	for _, f := range [][2]string{{"from", in.From}, {"to", in.To}} {
		if f[1] != "" {
			if err := revision(f[0], f[1]); err != nil {
				return call{}, err
			}
		}
	}
	switch {
	case in.To != "" && in.From == "":
		return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "to needs from: name both commits")
	case in.To != "" && in.Staged:
		return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "staged and to cannot be used together; leave one of them out")
	}
	if err := paths(in.Paths); err != nil {
		return call{}, err
	}
	make := func(how ...string) run {
		r := append(run{"--literal-pathspecs", "diff"}, exactDiff...)
		r = append(r, how...)
		if in.Staged {
			r = append(r, "--cached")
		}
		for _, name := range []string{in.From, in.To} {
			if name != "" {
				r = append(r, name)
			}
		}
		return append(append(r, "--"), in.Paths...)
	}
	c := call{runs: []run{make("--numstat", "-z")}, message: "Show what differs in the repository", kind: tongs.KindRead}
	if !in.Stat {
		c.runs = append(c.runs, make("--patch"))
	}
	return c, nil
}

func (s *set) diffTool() (tongs.Tool, error) {
	return define(s, tongs.Spec{
		Name: "git_diff", Title: "Git diff", Description: "Shows what differs between work tree, index and commits, by file and as a diff.",
		Hints: tongs.Hints{ReadOnly: true},
	}, DiffInput.runs, func(ctx context.Context, g *session, in DiffInput) (out DiffOutput, err error) {
		counted, err := g.git(ctx, 0)
		if err != nil {
			return out, err
		}
		out.count(counted.String())
		if !in.Stat {
			out.Diff, out.Bytes, err = g.text(ctx, 1)
		}
		return out, err
	})
}

// text runs git and returns what it shows, as much of it as a model should see.
func (s *session) text(ctx context.Context, at int) (string, int64, error) {
	shown := s.env.Output("stdout")
	var said limited
	exit, err := s.start(ctx, at, shown, &said)
	if err == nil && exit.Code != 0 {
		err = failure(exit, said.String())
	}
	if err != nil {
		return "", 0, err
	}
	return shown.Excerpt(), shown.Size(), nil
}

// count takes up what git diff --numstat -z says.
func (o *DiffOutput) count(text string) {
	o.Files = []Count{}
	records := strings.Split(text, "\x00")
	for i := 0; i < len(records); i++ {
		f := strings.SplitN(strings.TrimPrefix(records[i], "\n"), "\t", 3)
		if len(f) != 3 {
			continue
		}
		c := Count{Path: f[2], Binary: f[0] == "-"}
		c.Added, _ = strconv.Atoi(f[0])
		c.Removed, _ = strconv.Atoi(f[1])
		if c.Path == "" && i+2 < len(records) { // renamed: both names follow
			c.From, c.Path = records[i+1], records[i+2]
			i += 2
		}
		o.Added += c.Added
		o.Removed += c.Removed
		if len(o.Files) == maxFiles {
			o.Left++
			continue
		}
		o.Files = append(o.Files, c)
	}
}

// Present shows the diff, or the counts where there is none.
func (o DiffOutput) Present(r *tongs.Result) {
	r.Title = fmt.Sprintf("files that differ: %d; lines added: %d, removed: %d", len(o.Files)+o.Left, o.Added, o.Removed)
	if r.Content = o.Diff; r.Content == "" {
		r.Content = o.table() + r.Title
	}
}

func (o DiffOutput) table() string {
	var b strings.Builder
	for _, c := range o.Files {
		size := fmt.Sprintf("+%d -%d", c.Added, c.Removed)
		if c.Binary {
			size = "binary"
		}
		b.WriteString(shownPath(c.Path))
		if c.From != "" {
			b.WriteString(" from " + shownPath(c.From))
		}
		b.WriteString(" " + size + "\n")
	}
	return b.String()
}
