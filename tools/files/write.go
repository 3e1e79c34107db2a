package files

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// WriteInput are the arguments of write_file.
type WriteInput struct {
	Path       string `json:"path" jsonschema:"Path in the workspace." alias:"file_path,file,filename"`
	Content    string `json:"content" jsonschema:"The whole content." alias:"contents,text"`
	Encoding   string `json:"encoding,omitempty" jsonschema:"base64 if content is; text keeps the file's encoding and line ends." enum:"utf-8,base64"`
	CreateDirs bool   `json:"createDirs,omitempty" jsonschema:"Make missing parents." default:"true" alias:"createDirectories"`
}

// WriteOutput is the value of write_file.
type WriteOutput struct {
	Path    string `json:"path"`
	Size    int64  `json:"size" jsonschema:"Size of the file in bytes."`
	Created bool   `json:"created" jsonschema:"Whether the file is new."`
	Changed bool   `json:"changed" jsonschema:"Whether the file was written; false if it had this content already."`

	shown, display string
	metadata       map[string]any
}

// Present says what was written, and shows a person the difference.
func (o WriteOutput) Present(r *tongs.Result) {
	r.Title, r.Content, r.Metadata = o.Path, o.shown, o.metadata
	if o.display != "" {
		r.Display = o.shown + "\n" + o.display
	}
}

func (t *tools) writeTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[WriteInput, WriteOutput]{
		Spec: tongs.Spec{
			Name: "write_file", Title: "Write file", Aliases: []string{"write"}, Toolset: Toolset,
			Description: "Create or overwrite a file with the given content. To change a part of a file use edit.",
			Needs:       tongs.Write, Optional: tongs.Read,
			Hints: tongs.Hints{Destructive: true, Idempotent: true},
		},
		Plan: t.planWrite,
		Run:  t.write,
	})
}

// writing is one write of a file: what is there and what would be.
type writing struct {
	path    tongs.Path
	info    tongs.FileInfo
	version tongs.Version
	// old is the content that is there, nil where it is absent or too large to be compared.
	old  []byte
	data []byte
	// kept is the format of the old file that the new content was given.
	kept text.Format
	// converted says that the old encoding could not be kept.
	converted bool
}

func (w *writing) exists() bool { return w.version != tongs.Absent }

func (w *writing) unchanged() bool { return w.exists() && w.old != nil && bytes.Equal(w.old, w.data) }

// lookWrite finds out what a write would do. It refuses what could not be meant.
func (t *tools) lookWrite(ctx context.Context, v tongs.FileView, state tongs.StateView, in WriteInput) (*writing, error) {
	data := []byte(in.Content)
	var err error
	if in.Encoding == "base64" {
		if data, err = decodeBase64(in.Content); err != nil {
			return nil, err
		}
	}
	w := &writing{data: data}
	if w.path, err = v.Resolve(in.Path); err != nil {
		return nil, err
	}
	if w.version, err = v.Version(w.path); err != nil {
		return nil, err
	}
	if !w.exists() {
		return w, needDir(v, w.path, in.CreateDirs)
	}
	if w.info, err = statFile(v, w.path); err != nil {
		return nil, err
	}
	if err := checkSeen(ctx, state, v, w.info, w.version); err != nil {
		return nil, err
	}
	if w.info.Size > t.opt.EditBytes {
		return w, nil
	}
	if err := w.load(ctx, v, t.opt.EditBytes); err != nil {
		return nil, err
	}
	if in.Encoding == "base64" {
		return w, nil
	}
	return w, w.keep(in)
}

// load reads the old content, and notes the version that it belongs to.
func (w *writing) load(ctx context.Context, v tongs.FileView, limit int64) error {
	f, err := v.Open(w.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if w.version, err = f.Version(); err != nil {
		return err
	}
	w.old, err = readAll(ctx, f, limit)
	if w.old == nil && err == nil {
		w.old = []byte{}
	}
	return err
}

// keep gives the new content the encoding and the line ends of the old one.
func (w *writing) keep(in WriteInput) error {
	f := text.Detect(w.old)
	old, err := text.Decode(w.old, f)
	if err != nil {
		return nil // binary or damaged: replaced as it is
	}
	if err := refusePlaceholder("content", w.path.Rel, text.ToLF(old), text.ToLF(in.Content)); err != nil {
		return err
	}
	if len(w.old) == 0 {
		return nil
	}
	content := in.Content
	if f.BOM {
		content = strings.TrimPrefix(content, "\uFEFF")
	}
	if f.Ending == text.CRLF && !strings.Contains(content, "\r\n") {
		content = text.ToCRLF(content)
	}
	data, err := text.Encode(content, f)
	if un, ok := errors.AsType[*text.UnencodableError](err); ok {
		if in.Encoding == "" {
			return tongs.Errorf(tongs.CodeInvalidArgs, "%s is %s, and content does not fit it: %w; "+
				"leave the character out, or set encoding=utf-8 to convert the file", w.path, f.Encoding, un)
		}
		w.converted = true
		f.Encoding = text.UTF8
		data, err = text.Encode(content, f)
	}
	if err != nil {
		return err
	}
	w.data, w.kept = data, f
	return nil
}

func decodeBase64(s string) ([]byte, error) {
	s = strings.Join(strings.Fields(s), "")
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs,
			"content is not base64: %w; send standard base64, or leave encoding out for text", err)
	}
	return data, nil
}

func (t *tools) planWrite(ctx context.Context, v *tongs.View, in WriteInput) (*tongs.Plan, error) {
	w, err := t.lookWrite(ctx, v.Files, v.State, in)
	if err != nil {
		return nil, err
	}
	if w.unchanged() && v.Granted.Has(tongs.Read) {
		return readPlan(w.path, fmt.Sprintf("Leave %s as it is: it has this content already", showPath(w.path))), nil
	}
	plan := &tongs.Plan{
		Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: w.path, Version: w.version}},
		Default: decision(tongs.PreApproved),
		Kind:    tongs.KindWrite,
		Message: fmt.Sprintf("Create %s (%s)", showPath(w.path), text.Size(int64(len(w.data)))),
		Preview: func(context.Context) (string, error) { return bounded(w.preview(), previewDiff, previewDiff), nil },
	}
	if w.exists() {
		plan.Default = decision(tongs.Ask)
		plan.Message = fmt.Sprintf("Overwrite %s (%s) with %s", showPath(w.path), text.Size(w.info.Size), text.Size(int64(len(w.data))))
	}
	return plan, nil
}

// preview shows the difference, or the sizes where there is none to show.
func (w *writing) preview() string {
	newFormat := text.Detect(w.data)
	after, err := text.Decode(w.data, newFormat)
	oldFormat := text.Detect(w.old)
	before, oldErr := text.Decode(w.old, oldFormat)
	if err != nil || oldErr != nil || w.exists() && w.old == nil {
		before, after := describe(w.old, w.info.Size, w.exists()), describe(w.data, int64(len(w.data)), true)
		return fmt.Sprintf("%s: %s → %s\n", showPath(w.path), before, after)
	}
	diff := unified(w.path, before, after, !w.exists())
	if diff == "" && w.exists() {
		return fmt.Sprintf("%s: the text stays, its form changes: %s → %s\n", w.path, oldFormat, newFormat)
	}
	return diff
}

func describe(data []byte, n int64, exists bool) string {
	if !exists {
		return "absent"
	}
	if data == nil || text.Detect(data).Encoding != text.Binary {
		return text.Size(n)
	}
	_, name := text.Describe(data[:min(len(data), 512)])
	return fmt.Sprintf("%s, %s", name, text.Size(n))
}

func (t *tools) write(ctx context.Context, env *tongs.Env, in WriteInput) (out WriteOutput, err error) {
	w, err := t.lookWrite(ctx, env.Files, env.State, in)
	if err != nil {
		return out, err
	}
	out = WriteOutput{
		Path: w.path.String(), Size: int64(len(w.data)), Created: !w.exists(), Changed: true, metadata: map[string]any{},
	}
	if w.unchanged() {
		out.Changed = false
		out.shown = fmt.Sprintf("%s has this content already; nothing was written.", w.path)
		rememberWritten(ctx, env, w.path, w.version, w.data)
		return out, nil
	}
	opt := tongs.Replacing{Expect: w.version, MakeDirs: in.CreateDirs}
	version, err := env.Files.Replace(ctx, w.path, opt, func(dst io.Writer) error {
		_, err := dst.Write(w.data)
		return err
	})
	if err != nil {
		return WriteOutput{}, err
	}
	rememberWritten(ctx, env, w.path, version, w.data)
	out.say(w)
	return out, nil
}

// say tells what was written, and which parts of the old file's form were kept.
func (o *WriteOutput) say(w *writing) {
	verb, what := "Overwrote", text.Size(o.Size)
	if o.Created {
		verb = "Created"
	}
	if f := text.Detect(w.data); f.Encoding != text.Binary {
		var d text.Detector
		_, _ = d.Write(w.data)
		what = fmt.Sprintf("%s, %s", count(d.Lines(), "line"), what)
	}
	o.shown = fmt.Sprintf("%s %s (%s).", verb, w.path, what)
	if w.kept.Encoding != "" && !w.kept.Plain() {
		o.metadata["kept"] = w.kept.String()
		o.shown += fmt.Sprintf(" Its format was kept: %s.", w.kept)
	}
	if w.converted {
		o.metadata["converted"] = string(text.UTF8)
		o.shown += " It was converted to utf-8."
	}
	if !o.Created {
		o.display = w.preview()
	}
}
