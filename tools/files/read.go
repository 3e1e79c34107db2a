package files

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/seen"
	"github.com/tongs-ai/tongs/internal/text"
)

// ReadInput are the arguments of read_file.
type ReadInput struct {
	Path     string `json:"path" jsonschema:"Path in the workspace." alias:"file_path,file,filename"`
	Offset   int64  `json:"offset,omitempty" jsonschema:"First line, from 1; -10: the last 10. With base64, byte." default:"1" alias:"start_line"`
	Limit    int    `json:"limit,omitempty" jsonschema:"Lines; with base64, bytes." min:"1"`
	Encoding string `json:"encoding,omitempty" jsonschema:"utf-8 decodes text; base64 gives bytes." enum:"utf-8,base64" default:"utf-8"`
	Details  bool   `json:"details,omitempty" jsonschema:"Its size in bytes and time, too." default:"false"`
}

// ReadOutput is the value of read_file.
type ReadOutput struct {
	Path string `json:"path"`
	// Content is what was read, without line numbers, with LF line ends; or base64.
	Content  string    `json:"content"`
	Size     int64     `json:"size" jsonschema:"Size of the file in bytes."`
	Modified time.Time `json:"modified"`
	// TotalLines is absent where counting would take reading a large file.
	TotalLines *int64 `json:"totalLines,omitempty"`
	NextOffset int64  `json:"nextOffset,omitempty" jsonschema:"Where to read on; absent at the end."`
	Encoding   string `json:"encoding" jsonschema:"Encoding of the file, binary, or base64."`
	LineEnding string `json:"lineEnding,omitempty" jsonschema:"lf, crlf, mixed or none."`

	title, shown string
	metadata     map[string]any
	attachments  []tongs.Attachment
}

// Present shows the lines with their numbers.
func (o ReadOutput) Present(r *tongs.Result) {
	r.Title, r.Content, r.Metadata, r.Attachments = o.title, o.shown, o.metadata, o.attachments
}

func (t *tools) readTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[ReadInput, ReadOutput]{
		Spec: tongs.Spec{
			Name: "read_file", Title: "Read file", Aliases: []string{"read"}, Toolset: Toolset, Complex: true,
			Description: fmt.Sprintf("Read a file with line numbers: up to %d lines from offset. "+
				"Images are attached; other binary files are named.", t.opt.ReadLines),
			Needs: tongs.Read, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, Idempotent: true},
		},
		Plan: func(_ context.Context, v *tongs.View, in ReadInput) (*tongs.Plan, error) {
			p, err := v.Files.Resolve(in.Path)
			if err != nil {
				return nil, err
			}
			return planRead(v.Files, p, "Read "+showPath(p)), nil
		},
		Run: t.read,
	})
}

func (t *tools) read(ctx context.Context, env *tongs.Env, in ReadInput) (out ReadOutput, err error) {
	p, err := env.Files.Resolve(in.Path)
	if err != nil {
		return out, err
	}
	if _, err := statFile(env.Files, p); err != nil {
		return out, withNear(ctx, env.Files, p, err)
	}
	f, err := env.Files.Open(p)
	if err != nil {
		return out, err
	}
	defer f.Close()
	r := &reading{opt: t.opt, file: f, info: f.Info(), path: p, in: in}
	rec, err := look(f)
	if err != nil {
		return out, err
	}
	r.out = ReadOutput{Path: p.String(), Size: r.info.Size, Modified: r.info.Modified.UTC()}
	if err := r.run(ctx); err != nil {
		return ReadOutput{}, fault(err)
	}
	if in.Details {
		r.out.shown += fmt.Sprintf("\n[%d bytes, modified %s]", r.out.Size, r.out.Modified.Format(time.RFC3339))
	}
	rec.Hash = r.hash
	if err := seen.Save(ctx, env.State, p, rec); err != nil {
		return ReadOutput{}, err
	}
	return r.out, nil
}

// reading is one read of a file.
type reading struct {
	opt  Options
	file tongs.File
	info tongs.FileInfo
	path tongs.Path
	in   ReadInput

	format  text.Format
	head    []byte
	hash    string
	counted bool // total is the number of lines
	total   int64
	out     ReadOutput
}

func (r *reading) run(ctx context.Context) error {
	if err := r.scan(ctx); err != nil {
		return err
	}
	if r.in.Encoding == "base64" {
		return r.raw(ctx)
	}
	r.out.Encoding = string(r.format.Encoding)
	if r.format.Encoding == text.Binary {
		return r.binary(ctx)
	}
	r.out.LineEnding = string(r.format.Ending)
	if r.counted {
		total := r.total
		r.out.TotalLines = &total
	}
	if r.info.Size == r.format.Mark() {
		r.out.title, r.out.shown = r.path.String(), fmt.Sprintf("[%s is empty]", r.path)
		return nil
	}
	return r.lines(ctx)
}

// headBytes is what decides the format of a file that is too large to be scanned.
const headBytes = 64 << 10

// scanBytes is how much of a file is read at a time to find its format.
const scanBytes = 32 << 10

// scan finds the format, and of a file that is not too large the number of lines and the hash.
func (r *reading) scan(ctx context.Context) error {
	var d text.Detector
	most := r.info.Size
	if r.counted = most <= r.opt.CountBytes; !r.counted {
		most = headBytes
	}
	var sum hash.Hash
	w := io.Writer(&d)
	if r.info.Size <= maxHashed {
		sum = sha256.New()
		w = io.MultiWriter(&d, sum)
	}
	buf := make([]byte, max(512, min(scanBytes, most)))
	if _, err := io.CopyBuffer(w, contextReader{ctx, io.NewSectionReader(r.file, 0, most)}, buf); err != nil {
		return err
	}
	if sum != nil {
		r.hash = hex.EncodeToString(sum.Sum(nil))
	}
	r.format, r.head, r.total = d.Format(), d.Head(), d.Lines()
	return nil
}

// start finds where the wanted lines start, and the number of the first; negative ones count from the end.
func (r *reading) start(ctx context.Context) (at, number int64, err error) {
	if r.in.Offset >= 0 {
		number = max(r.in.Offset, 1)
		at, last, err := text.LineStart(ctx, r.file, r.info.Size, r.format, number)
		if err == nil && last < number {
			err = tongs.Errorf(tongs.CodeInvalidArgs, "offset %d is past the end: %s has %s", number, r.path, count(last, "line"))
		}
		return at, number, err
	}
	at, lines, err := text.TailStart(ctx, r.file, r.info.Size, r.format, -r.in.Offset)
	switch {
	case err != nil:
		return 0, 0, err
	case r.counted:
		return at, r.total - lines + 1, nil
	case at == r.format.Mark():
		return at, 1, nil
	default:
		return at, -lines, nil
	}
}

func (r *reading) lines(ctx context.Context) error {
	at, first, err := r.start(ctx)
	if err != nil {
		return err
	}
	limit := r.opt.ReadLines
	if r.in.Limit > 0 {
		limit = min(limit, r.in.Limit)
	}
	section := io.NewSectionReader(r.file, at, max(0, r.info.Size-at))
	sc := text.NewScannerOf(contextReader{ctx, section}, section.Size(), r.format, r.opt.LineChars)
	var shown, content strings.Builder
	if room := int(min(section.Size(), int64(r.opt.ReadBytes))); r.counted { // each line has a number before it
		content.Grow(room)
		shown.Grow(room + 8*int(min(r.total, int64(limit))))
	}
	number, cut, more := first, 0, false
	for sc.Scan() {
		line := sc.Line()
		body := strings.ToValidUTF8(line.Text, "\uFFFD")
		if line.Cut > 0 {
			cut++
			body += fmt.Sprintf(" … [%s left out]", count(line.Cut, "character"))
		}
		n := number - first
		if n >= int64(limit) || n > 0 && shown.Len()+len(body)+8 > r.opt.ReadBytes {
			more = true
			break
		}
		writeLine(&shown, number, body)
		content.WriteString(body)
		if line.Ended {
			content.WriteByte('\n')
		}
		number++
	}
	if sc.Err() != nil {
		return sc.Err()
	}
	r.out.Content = content.String()
	r.finish(first, number-1, more, cut, &shown)
	return nil
}

// writeLine writes a line with its number, right-aligned.
func writeLine(b *strings.Builder, number int64, body string) {
	var digits [20]byte
	n := strconv.AppendInt(digits[:0], number, 10)
	b.WriteString("      "[:max(0, 6-len(n))])
	b.Write(n)
	b.WriteByte('\t')
	b.WriteString(body)
	b.WriteByte('\n')
}

// finish says what was shown, what is left and how to get it.
func (r *reading) finish(first, last int64, more bool, cut int, shown *strings.Builder) {
	of := ""
	if r.counted {
		of = fmt.Sprintf(" of %d", r.total)
	}
	r.out.title = fmt.Sprintf("%s (lines %d to %d%s)", r.path, first, last, of)
	if r.counted && !more && first == 1 {
		r.out.title = fmt.Sprintf("%s (%s)", r.path, count(last, "line"))
	}
	var notes []string
	if more {
		r.out.NextOffset = last + 1
		left := fmt.Sprintf(" of a file of %s", text.Size(r.info.Size))
		if r.counted {
			left = fmt.Sprintf("; %s left", count(r.total-last, "line"))
		}
		notes = append(notes, fmt.Sprintf("lines %d to %d%s%s; read on with offset=%d", first, last, of, left, last+1))
	} else if first < 0 {
		notes = append(notes, "the lines are numbered from the end, since the file is too large to count them")
	}
	if cut > 0 {
		r.meta("cutLines", cut)
		notes = append(notes, fmt.Sprintf("%s cut at %d characters; encoding=base64 reads by bytes", count(cut, "line"), r.opt.LineChars))
	}
	if r.format.Damaged {
		notes = append(notes, fmt.Sprintf("some bytes are not valid %s and are shown as \uFFFD", r.format.Encoding))
	}
	if !r.format.Plain() {
		r.meta("format", r.format.String())
	}
	for _, note := range notes {
		shown.WriteString("[" + note + "]\n")
	}
	r.out.shown = strings.TrimSuffix(shown.String(), "\n")
}

func (r *reading) meta(key string, value any) {
	if r.out.metadata == nil {
		r.out.metadata = map[string]any{}
	}
	r.out.metadata[key] = value
}

var attachable = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// binary attaches an image, and names anything else.
func (r *reading) binary(ctx context.Context) error {
	mime, name := text.Describe(r.head)
	what := fmt.Sprintf("%s, %s", name, text.Size(r.info.Size))
	if !attachable[mime] {
		return tongs.Errorf(tongs.CodeBinaryFile, "%s is binary: %s; encoding=base64 gives its bytes", r.path, what).
			With("mime", mime).With("size", r.info.Size)
	}
	if r.info.Size > r.opt.ImageBytes {
		return tongs.Errorf(tongs.CodeTooLarge, "%s is too large to attach: %s, the limit is %s; encoding=base64 gives its bytes",
			r.path, what, text.Size(r.opt.ImageBytes)).With("mime", mime).With("size", r.info.Size)
	}
	data, err := readAll(ctx, r.file, r.opt.ImageBytes)
	if err != nil {
		return err
	}
	r.out.title = r.path.String()
	r.out.shown = fmt.Sprintf("[%s: %s, attached]", r.path, what)
	r.out.attachments = []tongs.Attachment{{Name: path.Base(r.path.Rel), MIME: mime, Size: int64(len(data)), Data: data}}
	r.meta("mime", mime)
	return nil
}

// raw reads bytes: offset is the position of the first, from 1, and limit their number.
func (r *reading) raw(ctx context.Context) error {
	limit := int64(r.opt.RawBytes)
	if r.in.Limit > 0 {
		limit = int64(min(r.in.Limit, r.opt.RawMax))
	}
	start := max(r.in.Offset, 1) - 1
	if r.in.Offset < 0 {
		start = max(0, r.info.Size+r.in.Offset)
	}
	if start >= r.info.Size && start > 0 {
		return tongs.Errorf(tongs.CodeInvalidArgs, "offset %d is past the end: %s has %s", r.in.Offset, r.path, text.Size(r.info.Size))
	}
	data, err := io.ReadAll(contextReader{ctx, io.NewSectionReader(r.file, start, limit)})
	if err != nil {
		return err
	}
	r.out.Content, r.out.Encoding = base64.StdEncoding.EncodeToString(data), "base64"
	r.out.title, r.out.shown = r.path.String(), r.out.Content
	if end := start + int64(len(data)); end < r.info.Size && len(data) > 0 {
		r.out.NextOffset = end + 1
		r.out.shown += fmt.Sprintf("\n[bytes %d to %d of %d; %s left; read on with offset=%d]",
			start+1, end, r.info.Size, text.Size(r.info.Size-end), end+1)
	}
	if len(data) == 0 {
		r.out.shown = fmt.Sprintf("[%s is empty]", r.path)
	}
	return nil
}
