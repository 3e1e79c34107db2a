package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
)

// LogInput are the arguments of git_log.
type LogInput struct {
	Revision string   `json:"revision,omitempty" jsonschema:"Commit, branch or tag to begin at; default HEAD." alias:"branch,rev"`
	Paths    []string `json:"paths,omitempty" jsonschema:"Only commits that changed these files or directories."`
	Limit    int      `json:"limit,omitempty" jsonschema:"How many commits." default:"20" min:"1" max:"200"`
	Skip     int      `json:"skip,omitempty" jsonschema:"How many newest commits to leave out." min:"0"`
	Author   string   `json:"author,omitempty" jsonschema:"Only commits whose author has this in name or address."`
	Grep     string   `json:"grep,omitempty" jsonschema:"Only commits whose message has this text."`
	Since    string   `json:"since,omitempty" jsonschema:"Only commits after this date, such as 2026-01-31 or '2 weeks ago'."`
	Until    string   `json:"until,omitempty" jsonschema:"Only commits before this date."`
}

// Commit is one commit.
type Commit struct {
	ID      string   `json:"id"`
	Parents []string `json:"parents"`
	Author  string   `json:"author"`
	Email   string   `json:"email"`
	Date    string   `json:"date" jsonschema:"When it was written, in ISO 8601."`
	Refs    []string `json:"refs,omitempty" jsonschema:"Branches and tags that point to it."`
	Subject string   `json:"subject"`
	Body    string   `json:"body,omitempty"`
}

// LogOutput is the value of git_log.
type LogOutput struct {
	Commits []Commit `json:"commits"`
	More    bool     `json:"more,omitempty" jsonschema:"There are older commits: use skip."`
}

// commitFields and commitFormat are how git tells of a commit: fields that end with a NUL byte, which no message can have.
const (
	commitFields = 7
	commitFormat = "--format=%H%x00%P%x00%an%x00%ae%x00%aI%x00%D%x00%B%x00"
	maxBody      = 4000
)

func (in LogInput) runs() (call, error) {
	if in.Revision != "" {
		if err := revision("revision", in.Revision); err != nil {
			return call{}, err
		}
	}
	if err := paths(in.Paths); err != nil {
		return call{}, err
	}
	limit := in.Limit
	if limit == 0 {
		limit = 20
	}
	r := run{
		"--literal-pathspecs", "log", commitFormat, "--no-color", "--no-notes", "--decorate=full", "--max-count=" + strconv.Itoa(limit+1), "--skip=" + strconv.Itoa(in.Skip),
	}
	for _, o := range [][2]string{{"--author=", in.Author}, {"--grep=", in.Grep}, {"--since=", in.Since}, {"--until=", in.Until}} {
		if strings.ContainsRune(o[1], 0) {
			return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "%s has a NUL byte", strings.Trim(o[0], "-="))
		}
		if o[1] != "" {
			r = append(r, o[0]+o[1])
		}
	}
	if in.Author != "" || in.Grep != "" {
		r = append(r, "-F")
	}
	if in.Revision != "" {
		r = append(r, in.Revision)
	}
	return call{runs: []run{append(append(r, "--"), in.Paths...)}, message: "Show the history of the repository", kind: tongs.KindRead}, nil
}

func (s *set) logTool() (tongs.Tool, error) {
	return define(s, tongs.Spec{
		Name: "git_log", Title: "Git log", Description: "Lists commits, newest first, by branch, file, author, text or date.",
		Hints: tongs.Hints{ReadOnly: true},
	}, LogInput.runs, func(ctx context.Context, g *session, in LogInput) (out LogOutput, err error) {
		text, err := g.git(ctx, 0)
		if out.Commits = []Commit{}; err != nil {
			if strings.Contains(err.Error(), "does not have any commits yet") {
				return out, nil
			}
			return out, err
		}
		out.Commits = commits(text.String())
		limit := in.Limit
		if limit == 0 {
			limit = 20
		}
		if out.More = len(out.Commits) > limit || text.cut; out.More {
			out.Commits = out.Commits[:min(limit, len(out.Commits))]
		}
		return out, nil
	})
}

// commits takes up what commitFormat says.
func commits(text string) []Commit {
	list := []Commit{}
	fields := strings.Split(text, "\x00")
	for ; len(fields) > commitFields; fields = fields[commitFields:] {
		subject, body, _ := strings.Cut(strings.TrimRight(fields[6], "\n"), "\n")
		body = strings.TrimSpace(body)
		if len(body) > maxBody {
			body = strings.ToValidUTF8(body[:maxBody], "") + fmt.Sprintf("\n... (%d bytes in all; git_show has all of it)", len(fields[6]))
		}
		c := Commit{
			ID: strings.TrimPrefix(fields[0], "\n"), Parents: strings.Fields(fields[1]), Author: fields[2], Email: fields[3], Date: fields[4],
			Subject: subject, Body: body,
		}
		if c.Parents == nil {
			c.Parents = []string{}
		}
		for ref := range strings.SplitSeq(fields[5], ", ") {
			if ref != "" {
				c.Refs = append(c.Refs, ref)
			}
		}
		list = append(list, c)
	}
	return list
}

// Present shows a line for each commit.
func (o LogOutput) Present(r *tongs.Result) {
	var b strings.Builder
	for _, c := range o.Commits {
		fmt.Fprintf(&b, "%s %s %s: %s\n", short(c.ID), c.Date, shownPath(c.Author), shownPath(c.Subject))
	}
	switch {
	case len(o.Commits) == 0:
		b.WriteString("no commits\n")
	case o.More:
		b.WriteString("there are older commits; use skip\n")
	}
	r.Title, r.Content = fmt.Sprintf("Commits: %d", len(o.Commits)), b.String()
}

// ShowInput are the arguments of git_show.
type ShowInput struct {
	Revision string `json:"revision,omitempty" jsonschema:"Commit, branch or tag; default HEAD." alias:"commit,rev"`
	Path     string `json:"path,omitempty" jsonschema:"Show this file as it is in the commit, from the top of the repository."`
}

// ShowOutput is the value of git_show.
type ShowOutput struct {
	Commit  *Commit `json:"commit,omitempty"`
	Files   []Count `json:"files,omitempty" jsonschema:"What the commit changed."`
	Left    int     `json:"left,omitempty" jsonschema:"How many more files it changed than are listed."`
	Diff    string  `json:"diff,omitempty" jsonschema:"Unified diff. A long one is cut, and says where the rest is."`
	Content string  `json:"content,omitempty" jsonschema:"Of the file at path. A long one is cut, and says where the rest is."`
	Bytes   int64   `json:"bytes" jsonschema:"Size of the whole diff or file."`
}

func (in ShowInput) runs() (call, error) {
	name := in.Revision
	if name == "" {
		name = "HEAD"
	}
	if err := revision("revision", name); err != nil {
		return call{}, err
	}
	if in.Path != "" {
		if err := paths([]string{in.Path}); err != nil {
			return call{}, err
		}
		return call{runs: []run{{"show", "--no-textconv", name + ":" + in.Path}}, message: "Show " + shownPath(in.Path) + " as it is in " + name, kind: tongs.KindRead}, nil
	}
	name += "^{commit}"
	show := func(how ...string) run {
		return append(append(append(run{"show"}, exactDiff...), how...), name, "--")
	}
	return call{
		runs:    []run{show("--no-patch", "--no-notes", "--decorate=full", commitFormat), show("--format=", "--numstat", "-z"), show("--format=", "--patch")},
		message: "Show the commit " + name, kind: tongs.KindRead,
	}, nil
}

func (s *set) showTool() (tongs.Tool, error) {
	return define(s, tongs.Spec{
		Name: "git_show", Title: "Git show", Description: "Shows a commit with its diff, or a file as it is in a commit.",
		Hints: tongs.Hints{ReadOnly: true},
	}, ShowInput.runs, func(ctx context.Context, g *session, in ShowInput) (out ShowOutput, err error) {
		if in.Path != "" {
			out.Content, out.Bytes, err = g.text(ctx, 0)
			return out, err
		}
		text, err := g.git(ctx, 0)
		if err != nil {
			return out, err
		}
		if list := commits(text.String()); len(list) > 0 {
			out.Commit = &list[0]
		}
		if text, err = g.git(ctx, 1); err != nil {
			return out, err
		}
		var d DiffOutput
		d.count(text.String())
		out.Files, out.Left = d.Files, d.Left
		out.Diff, out.Bytes, err = g.text(ctx, 2)
		return out, err
	})
}

// Present shows the commit with its diff, or the file.
func (o ShowOutput) Present(r *tongs.Result) {
	if o.Commit == nil {
		r.Title, r.Content = fmt.Sprintf("%d bytes", o.Bytes), o.Content
		return
	}
	c := o.Commit
	r.Title = short(c.ID) + " " + shownPath(c.Subject)
	r.Content = fmt.Sprintf("commit %s\nauthor %s <%s>\ndate %s\n\n%s\n%s\n\n%s%s", c.ID, shownPath(c.Author), shownPath(c.Email), c.Date, c.Subject, c.Body,
		DiffOutput{Files: o.Files}.table(), o.Diff)
}
