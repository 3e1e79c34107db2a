package files

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/seen"
	"github.com/tongs-ai/tongs/internal/text"
)

// MoveInput are the arguments of move_file.
type MoveInput struct {
	From       string `json:"from" jsonschema:"Path in the workspace." alias:"source,src,old_path"`
	To         string `json:"to" jsonschema:"The new path, not the directory." alias:"destination,dest,dst,target,new_path"`
	Overwrite  bool   `json:"overwrite,omitempty" jsonschema:"Replace a file there." default:"false"`
	CreateDirs bool   `json:"createDirs,omitempty" jsonschema:"Make missing parents." default:"true" alias:"createDirectories"`
}

// MoveOutput is the value of move_file.
type MoveOutput struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Overwritten bool   `json:"overwritten" jsonschema:"Whether a file was replaced."`
}

// Present says what moved.
func (o MoveOutput) Present(r *tongs.Result) {
	r.Title = fmt.Sprintf("%s → %s", o.From, o.To)
	r.Content = fmt.Sprintf("Moved %s to %s.", showName(o.From), showName(o.To))
	if o.Overwritten {
		r.Content = fmt.Sprintf("Moved %s to %s, replacing what was there.", showName(o.From), showName(o.To))
	}
}

func (t *tools) moveTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[MoveInput, MoveOutput]{
		Spec: tongs.Spec{
			Name: "move_file", Title: "Move file", Toolset: Toolset,
			Description: "Move or rename a file, link or directory. Replaces a file only with overwrite.",
			Needs:       tongs.Write, Optional: tongs.Read,
			Hints: tongs.Hints{Destructive: true},
		},
		Plan: planMove,
		Run:  runMove,
	})
}

// moving is one move: what is at both ends.
type moving struct {
	from, to tongs.FileInfo
	// fromVersion and toVersion are their states; toVersion is Absent where nothing is overwritten.
	fromVersion, toVersion tongs.Version
}

// lookMove resolves both ends and refuses what could not be meant.
func lookMove(v tongs.FileView, in MoveInput) (m moving, err error) {
	from, err := v.ResolveEntry(in.From)
	if err != nil {
		return m, err
	}
	to, err := v.ResolveEntry(in.To)
	if err != nil {
		return m, err
	}
	if err := notMovable(from, "moved"); err != nil {
		return m, err
	}
	if m.from, err = v.Stat(from); err != nil {
		return m, err
	}
	switch {
	case from == to:
		return m, tongs.Errorf(tongs.CodeInvalidArgs, "from and to are the same: %s", from)
	case from.Contains(to):
		return m, tongs.Errorf(tongs.CodeInvalidPath, "%s cannot be moved into itself (%s)", from, to)
	case strings.HasSuffix(in.To, "/") && m.from.Type != tongs.FileDirectory:
		return m, tongs.Errorf(tongs.CodeInvalidPath, "to (%q) names a directory; give the full new path, such as %s",
			in.To, to.Join(path.Base(from.Rel)))
	}
	if m.fromVersion, err = v.Version(from); err != nil {
		return m, err
	}
	if m.toVersion, err = v.Version(to); err != nil {
		return m, err
	}
	m.to = tongs.FileInfo{Path: to}
	if m.toVersion == tongs.Absent {
		return m, needDir(v, to, in.CreateDirs)
	}
	if m.to, err = v.Stat(to); err != nil {
		return m, err
	}
	return m, m.overwrites(in)
}

// overwrites refuses to replace a directory, to replace by one, and to replace anything unasked.
func (m moving) overwrites(in MoveInput) error {
	from, to := m.from.Path, m.to.Path
	switch {
	case m.to.Type == tongs.FileDirectory:
		return tongs.Errorf(tongs.CodeAlreadyExists, "%s is a directory; to move into it give the full new path, such as %s",
			to, to.Join(path.Base(from.Rel)))
	case m.to.Type == tongs.FileSymlink:
		return tongs.Errorf(tongs.CodeAlreadyExists, "%s is a link; delete it first, or name what it leads to (%s)", to, m.to.Target)
	case m.from.Type == tongs.FileDirectory:
		return tongs.Errorf(tongs.CodeAlreadyExists, "%s is a %s, which a directory cannot replace; delete it first",
			to, typeName(m.to.Type))
	case !in.Overwrite:
		return tongs.Errorf(tongs.CodeAlreadyExists, "%s exists already (%s, %s); set overwrite to replace it, or choose another name",
			to, typeName(m.to.Type), text.Size(m.to.Size))
	}
	return nil
}

func planMove(_ context.Context, v *tongs.View, in MoveInput) (*tongs.Plan, error) {
	m, err := lookMove(v.Files, in)
	if err != nil {
		return nil, err
	}
	from, to := m.from.Path, m.to.Path
	plan := &tongs.Plan{
		Effects: []tongs.Effect{
			{Kind: tongs.EffectDelete, Path: from, Version: m.fromVersion, NoGrant: true},
			{Kind: tongs.EffectWrite, Path: to, Version: m.toVersion},
		},
		Default: decision(tongs.PreApproved), Kind: tongs.KindWrite,
		Message: fmt.Sprintf("Move %s to %s", showPath(from), showPath(to)),
	}
	if v.Granted.Has(tongs.Read) { // what can be read by its new name is read by its old one
		plan.Effects = append(plan.Effects, tongs.Effect{Kind: tongs.EffectRead, Path: from, Incidental: true})
	}
	if m.toVersion != tongs.Absent {
		plan.Default, plan.Kind = decision(tongs.Ask), tongs.KindDestructive
		plan.Message += fmt.Sprintf(", replacing the %s there (%s)", typeName(m.to.Type), text.Size(m.to.Size))
	}
	return plan, nil
}

func runMove(ctx context.Context, env *tongs.Env, in MoveInput) (out MoveOutput, err error) {
	m, err := lookMove(env.Files, in)
	if err != nil {
		return out, err
	}
	from, to := m.from.Path, m.to.Path
	if err := env.Files.Rename(ctx, from, to, tongs.Renaming{Overwrite: in.Overwrite, MakeDirs: in.CreateDirs}); err != nil {
		return out, err
	}
	moveSeen(context.WithoutCancel(ctx), env, m)
	return MoveOutput{From: from.String(), To: to.String(), Overwritten: m.toVersion != tongs.Absent}, nil
}

// moveSeen carries what the session knows of a file to its new name, where it replaces what was known. Where that fails
// the older record stays, and the next change asks for the file to be read again.
func moveSeen(ctx context.Context, env *tongs.Env, m moving) {
	from, to := m.from.Path, m.to.Path
	rec, err := seen.Load(ctx, env.State, from)
	if err != nil {
		return
	}
	if rec.Version == "" {
		if replaced, err := seen.Load(ctx, env.State, to); err == nil && replaced.Version != "" {
			_ = seen.Save(ctx, env.State, to, seen.Record{})
		}
		return
	}
	if rec.Version == m.fromVersion {
		// A rename may change the version, though not the content.
		version, err := env.Files.Version(to)
		if err != nil {
			return
		}
		rec.Version = version
	}
	if seen.Save(ctx, env.State, to, rec) == nil {
		_ = seen.Save(ctx, env.State, from, seen.Record{})
	}
}
