package git

import (
	"context"
	"regexp"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// PushInput are the arguments of git_push.
type PushInput struct {
	Remote      string `json:"remote,omitempty" jsonschema:"Name of a remote of the repository." default:"origin"`
	Branch      string `json:"branch,omitempty" jsonschema:"Local branch; default the current one."`
	To          string `json:"to,omitempty" jsonschema:"Branch on the remote; default the same name."`
	Tag         string `json:"tag,omitempty" jsonschema:"Push this tag, not a branch."`
	SetUpstream bool   `json:"setUpstream,omitempty" jsonschema:"Make it the upstream of the branch."`
	Force       bool   `json:"force,omitempty" jsonschema:"Replace the remote branch, unless it changed since the last fetch. Always asks."`
	Delete      bool   `json:"delete,omitempty" jsonschema:"Delete the branch or tag on the remote. Always asks."`
}

// Pushed is what became of a reference.
type Pushed struct {
	Ref    string `json:"ref" jsonschema:"On the remote."`
	Result string `json:"result" enum:"new,updated,forced,deleted,unchanged,rejected"`
	Detail string `json:"detail,omitempty"`
}

// PushOutput is the value of git_push.
type PushOutput struct {
	Remote string   `json:"remote" jsonschema:"Its address."`
	Refs   []Pushed `json:"refs"`
	Output string   `json:"output,omitempty" jsonschema:"What git, hooks and the server said."`
}

// remoteName matches the name of a remote; what else git takes there is an address.
var remoteName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func (in PushInput) runs() (call, error) {
	remote := in.Remote
	if remote == "" {
		remote = "origin"
	}
	if !remoteName.MatchString(remote) {
		return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "remote %q is not the name of a remote; git_push pushes to remotes that the repository has, not to addresses", remote)
	}
	for _, f := range [][2]string{{"branch", in.Branch}, {"to", in.To}, {"tag", in.Tag}} {
		if f[1] != "" {
			if err := branchName(f[0], f[1]); err != nil {
				return call{}, err
			}
		}
	}
	switch {
	case in.Tag != "" && (in.Branch != "" || in.To != "" || in.SetUpstream):
		return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "a tag is pushed alone; leave out branch, to and setUpstream")
	case in.Delete && in.Tag == "" && in.Branch == "":
		return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "delete needs a branch or a tag")
	case in.Delete && (in.To != "" || in.Force || in.SetUpstream):
		return call{}, tongs.Errorf(tongs.CodeInvalidArgs, "delete cannot be used with to, force or setUpstream")
	}
	r := run{"push", "--porcelain"}
	if in.SetUpstream {
		r = append(r, "--set-upstream")
	}
	if in.Force {
		r = append(r, "--force-with-lease")
	}
	r = append(r, "--", remote, in.refspec())
	return call{runs: []run{r}, message: "Push " + programoutput.Short(in.refspec(), 80) + " to " + remote, kind: tongs.KindExecute}, nil
}

// refspec is what is pushed, as git writes it.
func (in PushInput) refspec() string {
	switch {
	case in.Tag != "" && in.Delete:
		return ":refs/tags/" + in.Tag
	case in.Tag != "":
		return "refs/tags/" + in.Tag + ":refs/tags/" + in.Tag
	case in.Delete:
		return ":refs/heads/" + in.Branch
	case in.Branch == "" && in.To == "":
		return "HEAD"
	case in.Branch == "":
		return "HEAD:refs/heads/" + in.To
	case in.To == "":
		return "refs/heads/" + in.Branch + ":refs/heads/" + in.Branch
	default:
		return "refs/heads/" + in.Branch + ":refs/heads/" + in.To
	}
}

func (s *set) pushTool() (tongs.Tool, error) {
	return define(s, tongs.Spec{
		Name: "git_push", Title: "Git push", Description: "Pushes a branch or tag to a remote of the repository. Asks unless a rule allows it.",
		Hints: tongs.Hints{Destructive: true, OpenWorld: true},
	}, PushInput.runs, func(ctx context.Context, g *session, in PushInput) (out PushOutput, err error) {
		var listed, said limited
		exit, err := g.start(ctx, 0, &listed, &said)
		if err != nil {
			return out, err
		}
		out.read(listed.String())
		out.Output = programoutput.Shown(strings.TrimSpace(said.String()))
		if exit.Code != 0 {
			var text strings.Builder
			for _, ref := range out.Refs {
				if ref.Result == "rejected" {
					text.WriteString("rejected " + ref.Ref + ": " + ref.Detail + "\n")
				}
			}
			return out, failure(exit, text.String()+said.String())
		}
		return out, nil
	})
}

// results are the flags of git push --porcelain.
var results = map[string]string{" ": "updated", "+": "forced", "-": "deleted", "*": "new", "!": "rejected", "=": "unchanged"}

// read takes up what git push --porcelain says.
func (o *PushOutput) read(text string) {
	o.Refs = []Pushed{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if where, ok := strings.CutPrefix(line, "To "); ok {
			o.Remote = where
			continue
		}
		f := strings.SplitN(line, "\t", 3)
		if len(f) != 3 || results[f[0]] == "" {
			continue
		}
		_, to, _ := strings.Cut(f[1], ":")
		o.Refs = append(o.Refs, Pushed{Ref: to, Result: results[f[0]], Detail: f[2]})
	}
}

// Present tells what became of each reference.
func (o PushOutput) Present(r *tongs.Result) {
	var b strings.Builder
	b.WriteString("to " + programoutput.Plain(o.Remote) + "\n")
	for _, ref := range o.Refs {
		b.WriteString(ref.Result + " " + shownPath(ref.Ref) + " " + programoutput.Plain(ref.Detail) + "\n")
	}
	if o.Output != "" {
		b.WriteString(o.Output + "\n")
	}
	r.Title, r.Content = "Pushed to "+programoutput.Plain(o.Remote), b.String()
}
