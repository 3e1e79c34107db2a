package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// EditInput are the arguments of edit: one replacement, or several in Edits.
type EditInput struct {
	Path       string        `json:"path" jsonschema:"Path in the workspace." alias:"file_path,file,filename"`
	OldString  *string       `json:"oldString,omitempty" jsonschema:"Text as it stands in the file, without line numbers." alias:"old_str,old_text,search"`
	NewString  *string       `json:"newString,omitempty" jsonschema:"What takes its place; empty removes it." alias:"new_str,new_text,replace"`
	ReplaceAll bool          `json:"replaceAll,omitempty" jsonschema:"Every match, not one." default:"false"`
	Edits      []Replacement `json:"edits,omitempty" jsonschema:"Several in order, instead." minItems:"1"`
}

// Replacement is one of several replacements.
type Replacement struct {
	OldString  string `json:"oldString" jsonschema:"Old string." minLength:"1" alias:"old_str,old_text,search"`
	NewString  string `json:"newString" jsonschema:"New string." alias:"new_str,new_text,replace"`
	ReplaceAll bool   `json:"replaceAll,omitempty" jsonschema:"Every match, not one." default:"false"`
}

// EditOutput is the value of edit.
type EditOutput struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	FirstLine    int    `json:"firstLine" jsonschema:"First line that changed."`
	Diff         string `json:"diff" jsonschema:"Unified diff; cut where it is very long."`

	diff     string // all of it
	metadata map[string]any
}

// Present shows the model a part of the difference, and a person all of it.
func (o EditOutput) Present(r *tongs.Result) {
	r.Title = o.Path
	said := fmt.Sprintf("Edited %s: %s.\n", o.Path, count(o.Replacements, "replacement"))
	r.Content = strings.TrimSuffix(said+bounded(o.diff, diffLines, diffBytes), "\n")
	r.Display = said + o.diff
	r.Metadata = o.metadata
}

func (t *tools) editTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[EditInput, EditOutput]{
		Spec: tongs.Spec{
			Name: "edit", Title: "Edit file", Aliases: []string{"edit_file", "apply_diff"}, Toolset: Toolset, Complex: true,
			Description: "Replace text in a file. oldString must be found exactly once, unless replaceAll; " +
				"edits makes several replacements, all or none.",
			Needs: tongs.Read | tongs.Write,
			Hints: tongs.Hints{Destructive: true},
		},
		Plan: t.planEdit,
		Run:  t.edit,
	})
}

// replacements checks the arguments and returns them as a list.
func (in EditInput) replacements() ([]replacement, error) {
	single := in.OldString != nil || in.NewString != nil
	switch {
	case single && len(in.Edits) > 0:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "give either oldString and newString, or edits, not both")
	case !single && len(in.Edits) == 0:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "nothing to replace: give oldString and newString, or edits")
	case single && in.OldString == nil:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "oldString is missing: give the text that newString replaces")
	case single && in.NewString == nil:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, `newString is missing: give the new text, or "" to remove oldString`)
	}
	var list []replacement
	if single {
		list = append(list, replacement{*in.OldString, *in.NewString, in.ReplaceAll})
	}
	for _, e := range in.Edits {
		list = append(list, replacement{e.OldString, e.NewString, e.ReplaceAll || in.ReplaceAll})
	}
	for i := range list {
		r := &list[i]
		r.old, r.new = text.ToLF(r.old), text.ToLF(r.new)
		where := ""
		if len(list) > 1 {
			where = fmt.Sprintf("edits[%d]: ", i)
		}
		if r.old == r.new {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%soldString and newString are the same; nothing would change", where)
		}
		if r.old == "" && !single {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%soldString is empty; give the text to replace", where)
		}
	}
	return list, nil
}

// editing is one edit of a file: what is there and what would be.
type editing struct {
	writing
	outcome
	before  string // the decoded text
	format  text.Format
	edits   []replacement
	created bool
}

// errContent wraps an error that tells of the file's content, and so is for those only who may read it.
type errContent struct{ error }

func (e errContent) Unwrap() error { return e.error }

// lookEdit finds out what an edit would do. What cannot be done because of the file's content is an errContent.
func (t *tools) lookEdit(ctx context.Context, v tongs.FileView, state tongs.StateView, in EditInput) (*editing, error) {
	edits, err := in.replacements()
	if err != nil {
		return nil, err
	}
	e := &editing{edits: edits}
	if e.path, err = v.Resolve(in.Path); err != nil {
		return nil, err
	}
	if e.version, err = v.Version(e.path); err != nil {
		return nil, err
	}
	if !e.exists() {
		return e, e.create(in)
	}
	if e.info, err = statFile(v, e.path); err != nil {
		return nil, err
	}
	if e.info.Size > t.opt.EditBytes {
		return nil, tongs.Errorf(tongs.CodeTooLarge, "%s has %s; files up to %s can be edited",
			e.path, text.Size(e.info.Size), text.Size(t.opt.EditBytes))
	}
	if err := e.load(ctx, v, t.opt.EditBytes); err != nil {
		return nil, err
	}
	if err := checkSeen(ctx, state, v, e.info, e.version); err != nil {
		return nil, err
	}
	if err := e.apply(); err != nil {
		return e, errContent{err}
	}
	return e, nil
}

// create makes a new file of an edit whose old text is empty.
func (e *editing) create(in EditInput) error {
	if e.edits[0].old != "" {
		return tongs.Errorf(tongs.CodeFileNotFound, "%s does not exist", e.path)
	}
	e.created = true
	e.outcome = outcome{text: *in.NewString, replacements: 1, how: []string{byText}}
	e.format = text.Format{Encoding: text.UTF8, Ending: text.LF}
	e.data = []byte(e.outcome.text)
	return nil
}

// apply makes the edits in memory.
func (e *editing) apply() (err error) {
	e.format = text.Detect(e.old)
	if e.before, err = text.Decode(e.old, e.format); err != nil {
		if e.format.Encoding == text.Binary {
			return tongs.Errorf(tongs.CodeBinaryFile,
				"%s is binary and cannot be edited as text; write_file with encoding=base64 replaces it", e.path)
		}
		return tongs.Errorf(tongs.CodeBinaryFile,
			"%s holds bytes that are not valid %s, and an edit would lose them; write_file replaces the whole file",
			e.path, e.format.Encoding)
	}
	if e.edits[0].old == "" {
		if e.before != "" {
			return tongs.Errorf(tongs.CodeInvalidArgs,
				"oldString is empty and %s is not; give the text to replace, or use write_file to replace it all", e.path)
		}
		e.outcome = outcome{text: e.edits[0].new, replacements: 1, how: []string{byText}}
	} else if e.outcome, err = applyEdits(e.before, e.format.Ending, e.edits); err != nil {
		return err
	}
	for i, r := range e.edits {
		argument := "newString"
		if len(e.edits) > 1 {
			argument = fmt.Sprintf("newString of edits[%d]", i)
		}
		if err := refusePlaceholder(argument, e.path.Rel, text.ToLF(e.before), r.new); err != nil {
			return err
		}
	}
	if e.outcome.text == e.before {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the edit changes nothing: %s would stay as it is", e.path)
	}
	e.data, err = text.Encode(e.outcome.text, e.format)
	if un, ok := errors.AsType[*text.UnencodableError](err); ok {
		return tongs.Errorf(tongs.CodeInvalidArgs, "%s is %s, and the new text does not fit it: %w; "+
			"leave the character out, or use write_file with encoding=utf-8 to convert the file", e.path, e.format.Encoding, un)
	}
	return err
}

func (t *tools) planEdit(ctx context.Context, v *tongs.View, in EditInput) (*tongs.Plan, error) {
	e, err := t.lookEdit(ctx, v.Files, v.State, in)
	if _, content := errors.AsType[errContent](err); content {
		// The call will fail, and by reading only: its error tells of the content, so reading is what must be decided.
		return readPlan(e.path, fmt.Sprintf("Read %s: the edit does not fit it", showPath(e.path))), nil
	}
	if e != nil && tongs.CodeOf(err) == tongs.CodeFileNotFound {
		return planRead(v.Files, e.path, fmt.Sprintf("Look for %s, which does not exist", showPath(e.path))), nil
	}
	if err != nil {
		return nil, err
	}
	plan := &tongs.Plan{
		Effects: []tongs.Effect{
			{Kind: tongs.EffectWrite, Path: e.path, Version: e.version},
			{Kind: tongs.EffectRead, Path: e.path, Incidental: true},
		},
		Default: decision(tongs.Ask), Kind: tongs.KindWrite,
		Message: e.message(),
		Preview: func(context.Context) (string, error) {
			return unified(e.path, e.before, e.outcome.text, e.created), nil
		},
	}
	if e.created {
		plan.Effects = plan.Effects[1:]
	}
	return plan, nil
}

func (e *editing) message() string {
	switch {
	case e.created:
		return fmt.Sprintf("Create %s (%s)", showPath(e.path), text.Size(int64(len(e.data))))
	case e.replacements > 1:
		return fmt.Sprintf("Make %s in %s", count(e.replacements, "replacement"), showPath(e.path))
	}
	head := commonHead(e.before, e.outcome.text)
	tail := commonTail(e.before[head:], e.outcome.text[head:])
	gone := text.Count(e.before[head : len(e.before)-tail])
	if gone == 0 {
		return fmt.Sprintf("Add %s to %s", count(text.Count(e.outcome.text[head:len(e.outcome.text)-tail]), "line"), showPath(e.path))
	}
	if len(e.outcome.text) == head+tail {
		return fmt.Sprintf("Remove %s from %s", count(gone, "line"), showPath(e.path))
	}
	return fmt.Sprintf("Replace %s in %s", count(gone, "line"), showPath(e.path))
}

func (t *tools) edit(ctx context.Context, env *tongs.Env, in EditInput) (out EditOutput, err error) {
	e, err := t.lookEdit(ctx, env.Files, env.State, in)
	if content, ok := errors.AsType[errContent](err); ok {
		return out, content.error
	}
	if err != nil {
		if e != nil {
			err = withNear(ctx, env.Files, e.path, err)
		}
		return out, err
	}
	opt := tongs.Replacing{Expect: e.version, MakeDirs: e.created}
	version, err := env.Files.Replace(ctx, e.path, opt, func(w io.Writer) error {
		_, err := w.Write(e.data)
		return err
	})
	if err != nil {
		return out, err
	}
	rememberWritten(ctx, env, e.path, version, e.data)
	out = EditOutput{
		Path: e.path.String(), Replacements: e.replacements, metadata: map[string]any{},
		FirstLine: 1 + strings.Count(e.outcome.text[:commonHead(e.outcome.text, e.before)], "\n"),
		diff:      unified(e.path, e.before, e.outcome.text, e.created),
	}
	out.Diff = bounded(out.diff, valueDiff, valueDiff)
	if slices.Contains(e.how, byLines) || slices.Contains(e.how, byNumbers) {
		out.metadata["matched"] = e.how
	}
	if !e.format.Plain() {
		out.metadata["kept"] = e.format.String()
	}
	return out, nil
}
