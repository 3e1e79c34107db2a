package git

import (
	"context"
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// CommitInput are the arguments of git_commit.
type CommitInput struct {
	Message    string   `json:"message,omitempty" jsonschema:"Message: a subject, then an empty line and a body. Only amend can do without."`
	Paths      []string `json:"paths,omitempty" jsonschema:"Files and directories to stage first, new and deleted ones too."`
	All        bool     `json:"all,omitempty" jsonschema:"Stage all changes of tracked files first."`
	Amend      bool     `json:"amend,omitempty" jsonschema:"Replace the last commit."`
	AllowEmpty bool     `json:"allowEmpty,omitempty" jsonschema:"Commit even if nothing changed."`
}

// CommitOutput is the value of git_commit.
type CommitOutput struct {
	Commit *Commit `json:"commit,omitempty"`
	Files  []Count `json:"files" jsonschema:"What the commit changed."`
	Left   int     `json:"left,omitempty" jsonschema:"How many more files it changed than are listed."`
	Output string  `json:"output,omitempty" jsonschema:"What git and hooks said."`
}

func (in CommitInput) runs() (call, error) {
	if strings.TrimSpace(in.Message) == "" && !in.Amend {
		return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "message is empty; say what the commit changes")
	}
	if strings.ContainsRune(in.Message, 0) {
		return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "message has a NUL byte")
	}
	if err := paths(in.Paths); err != nil {
		return call{}, err
	}
	var c call
	if len(in.Paths) > 0 {
		c.runs = append(c.runs, append(run{"--literal-pathspecs", "add", "--"}, in.Paths...))
	}
	commit := run{"commit"}
	for _, f := range []struct {
		set  bool
		flag string
	}{{in.Amend, "--amend"}, {in.All, "--all"}, {in.AllowEmpty, "--allow-empty"}} {
		if f.set {
			commit = append(commit, f.flag)
		}
	}
	subject := "the last commit again"
	if strings.TrimSpace(in.Message) == "" {
		commit = append(commit, "--no-edit")
	} else {
		commit = append(commit, "--message="+in.Message)
		subject, _, _ = strings.Cut(strings.TrimSpace(in.Message), "\n")
	}
	c.runs = append(c.runs, commit,
		run{"log", "--max-count=1", "--no-color", "--no-notes", "--decorate=full", commitFormat},
		append(append(run{"show"}, exactDiff...), "--format=", "--numstat", "-z", "HEAD", "--"))
	c.message, c.kind = "Commit: "+programoutput.Short(subject, 80), tongs.KindWrite
	return c, nil
}

func (s *set) commitTool() (tongs.Tool, error) {
	return define(s, tongs.Spec{
		Name: "git_commit", Title: "Git commit", Description: "Commits staged changes, and stages files first. Hooks run in the sandbox.",
	}, CommitInput.runs, func(ctx context.Context, g *session, in CommitInput) (out CommitOutput, err error) {
		at := 0
		if len(in.Paths) > 0 {
			if _, err := g.git(ctx, at); err != nil {
				return out, err
			}
			at++
		}
		if out.Output, err = g.says(ctx, at); err != nil {
			return out, err
		}
		text, err := g.git(ctx, at+1)
		if err != nil {
			return out, err
		}
		if list := commits(text.String()); len(list) > 0 {
			out.Commit = &list[0]
		}
		if text, err = g.git(ctx, at+2); err != nil {
			return out, err
		}
		var d DiffOutput
		d.count(text.String())
		out.Files, out.Left = d.Files, d.Left
		return out, nil
	})
}

// says runs git, and returns what it and the hooks that it runs say.
func (s *session) says(ctx context.Context, at int) (string, error) {
	shown := s.env.Output("stdout")
	exit, err := s.start(ctx, at, shown, shown)
	if err == nil && exit.Code != 0 {
		err = failure(exit, shown.Excerpt())
	}
	if err != nil {
		return "", err
	}
	return shown.Excerpt(), nil
}

// Present tells what was committed.
func (o CommitOutput) Present(r *tongs.Result) {
	if o.Commit != nil {
		r.Title = short(o.Commit.ID) + " " + shownPath(o.Commit.Subject)
	}
	r.Content = strings.TrimRight(o.Output, "\n") + "\n" + DiffOutput{Files: o.Files}.table()
}

// BranchInput are the arguments of git_branch.
type BranchInput struct {
	Action string `json:"action,omitempty" jsonschema:"What to do; default list." enum:"list,create,switch,rename,delete" default:"list"`
	Name   string `json:"name,omitempty" jsonschema:"The branch; not for list."`
	From   string `json:"from,omitempty" jsonschema:"Where a new branch begins; default HEAD."`
	To     string `json:"to,omitempty" jsonschema:"New name, for rename."`
	Switch bool   `json:"switch,omitempty" jsonschema:"Switch to the new branch."`
	Force  bool   `json:"force,omitempty" jsonschema:"Delete a branch whose commits are on no other."`
}

// Branch is a local branch.
type Branch struct {
	Name     string `json:"name"`
	Commit   string `json:"commit"`
	Subject  string `json:"subject"`
	Upstream string `json:"upstream,omitempty"`
	Track    string `json:"track,omitempty" jsonschema:"How it compares with the upstream, such as ahead 1, behind 2, or gone."`
	Current  bool   `json:"current,omitempty"`
}

// BranchOutput is the value of git_branch.
type BranchOutput struct {
	Branches []Branch `json:"branches" jsonschema:"All local branches, afterwards."`
	Left     int      `json:"left,omitempty" jsonschema:"How many more there are than are listed."`
	Output   string   `json:"output,omitempty" jsonschema:"What git and hooks said."`
}

func (in BranchInput) runs() (c call, err error) {
	action := in.Action
	if action == "" {
		action = "list"
	}
	if action != "list" {
		err = branchName("name", in.Name)
	}
	if err == nil && in.From != "" {
		err = revision("from", in.From)
	}
	var r run
	switch action {
	case "create":
		if r = (run{"branch", in.Name}); in.Switch {
			r = run{"switch", "--create", in.Name}
		}
		if in.From != "" {
			r = append(r, in.From)
		}
	case "switch":
		r = run{"switch", in.Name}
	case "rename":
		if err == nil {
			err = branchName("to", in.To)
		}
		r = run{"branch", "--move", in.Name, in.To}
	case "delete":
		how := "-d"
		if in.Force {
			how = "-D"
		}
		r = run{"branch", how, in.Name}
	}
	if err != nil {
		return c, err
	}
	c.message, c.kind = "List branches", tongs.KindRead
	if r != nil {
		c.runs = append(c.runs, r)
		c.message, c.kind = fmt.Sprintf("Branch: %s %s", action, programoutput.Short(in.Name, 80)), tongs.KindWrite
	}
	c.runs = append(c.runs, run{
		"for-each-ref", "--format=%(refname:short)%00%(objectname)%00%(upstream:short)%00%(upstream:track,nobracket)%00%(HEAD)%00%(subject)", "refs/heads",
	})
	return c, nil
}

func (s *set) branchTool() (tongs.Tool, error) {
	return define(s, tongs.Spec{
		Name: "git_branch", Title: "Git branch", Description: "Lists, creates, switches, renames and deletes local branches.",
		Hints: tongs.Hints{Destructive: true},
	}, BranchInput.runs, func(ctx context.Context, g *session, in BranchInput) (out BranchOutput, err error) {
		last := len(g.call.runs) - 1
		if last > 0 {
			if out.Output, err = g.says(ctx, 0); err != nil {
				return out, err
			}
		}
		text, err := g.git(ctx, last)
		if err != nil {
			return out, err
		}
		out.Branches = []Branch{}
		for line := range strings.Lines(text.String()) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
			switch {
			case len(f) != 6:
			case len(out.Branches) == maxFiles:
				out.Left++
			default:
				out.Branches = append(out.Branches, Branch{Name: f[0], Commit: f[1], Upstream: f[2], Track: f[3], Current: f[4] == "*", Subject: f[5]})
			}
		}
		return out, nil
	})
}

// Present shows a line for each branch.
func (o BranchOutput) Present(r *tongs.Result) {
	var b strings.Builder
	b.WriteString(o.Output)
	for _, branch := range o.Branches {
		mark := "  "
		if branch.Current {
			mark = "* "
		}
		fmt.Fprintf(&b, "%s%s %s %s\n", mark, shownPath(branch.Name), short(branch.Commit), shownPath(branch.Subject))
	}
	if o.Left > 0 {
		fmt.Fprintf(&b, "%d more branches\n", o.Left)
	}
	r.Title, r.Content = fmt.Sprintf("Branches: %d", len(o.Branches)+o.Left), b.String()
}
