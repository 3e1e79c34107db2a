package cli

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// maxShown and maxTail are how much of the beginning and the end of what a call streamed is remembered, so as not to show it twice.
const (
	maxShown = 64 << 10
	maxTail  = 1 << 10
)

// streamed is what a call streamed to the terminal that its result goes to as well, without colours.
type streamed struct {
	head, tail string
	cut        bool
}

func (s *streamed) add(text string) {
	if s.cut = s.cut || len(s.head)+len(text) > maxShown; !s.cut {
		s.head += text
	}
	s.tail += text
	s.tail = s.tail[max(0, len(s.tail)-maxTail):]
}

// after returns what of a text comes after what was streamed; ok is false where the text does not contain it.
func (s *streamed) after(text string) (rest string, ok bool) {
	if s.tail == "" {
		return "", false
	}
	if !s.cut {
		return strings.CutPrefix(text, strings.TrimSuffix(s.head, "\n"))
	}
	end := strings.TrimSuffix(s.tail, "\n")
	at := strings.LastIndex(text, end)
	if at < 0 {
		return "", false
	}
	return text[at+len(end):], true
}

// Sink shows the updates of a running call on standard error: titles always, output only to a terminal, and not where
// standard output is a pipe, since whoever reads it gets the same text in the end.
func (p *Printer) Sink(format string) func(tongs.Update) {
	if format == "json" {
		return nil
	}
	live, both := terminal.IsTerminal(p.Err) && !isPipe(p.Out), terminal.IsTerminal(p.Out)
	return func(u tongs.Update) {
		switch {
		case u.Text != "" && !live:
		case u.Text != "":
			text := programoutput.Shown(u.Text)
			fmt.Fprint(p.Err, text)
			if both {
				p.shown.add(programoutput.Uncoloured(text))
			}
		case u.Waiting != "": // the question itself is shown by whoever asks it
		case u.Title != "" && u.Total > 0:
			fmt.Fprintf(p.Err, "%s (%g of %g)\n", terminal.Clean(u.Title), u.Done, u.Total)
		case u.Title != "":
			fmt.Fprintln(p.Err, terminal.Clean(u.Title))
		}
	}
}

func isPipe(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&fs.ModeNamedPipe != 0
}

// Failed is the result of a call that could not be made.
func Failed(err error) *tongs.Result {
	if _, ok := err.(UsageError); ok {
		err = tongs.Errorf(tongs.CodeInvalidArgs, "%w", err)
	}
	return tongs.Failure(err)
}

// Result shows the result of a call.
func (p *Printer) Result(res *tongs.Result, format string) error {
	if format == "json" {
		return p.JSON(ResultJSON(res))
	}
	if res.Error != nil {
		if made := partial(res); made != "" {
			if err := p.content(made, res.Display); err != nil {
				return err
			}
		}
		fmt.Fprintf(p.Err, "tongs: %s\n", terminal.CleanLines(res.Error.Error()))
		return nil
	}
	if err := p.content(res.Content, res.Display); err != nil {
		return err
	}
	for _, at := range res.Attachments {
		where := ""
		if at.Path != "" {
			where = ", " + at.Path
		}
		fmt.Fprintf(p.Err, "attachment: %s (%s, %d bytes%s)\n", terminal.Clean(at.Name), terminal.Clean(at.MIME), at.Size, terminal.Clean(where))
	}
	return nil
}

// partial is what the content of a failed call has beside its error.
func partial(res *tongs.Result) string {
	made := strings.TrimPrefix(res.Content, res.Error.Error())
	if strings.TrimSpace(made) == "" {
		return ""
	}
	return strings.TrimPrefix(made, "\n")
}

// Content writes a text as it is, or, to a terminal, without what the terminal would act on.
func (p *Printer) Content(text string) error { return p.content(text, "") }

// content writes what a call came to: to a terminal as a person should see it, without what it has shown already.
func (p *Printer) content(content, display string) error {
	if terminal.IsTerminal(p.Out) {
		content = terminal.CleanLines(cmp.Or(programoutput.Uncoloured(display), content))
		if rest, ok := p.shown.after(content); ok {
			content = strings.TrimPrefix(rest, "\n")
		}
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	_, err := fmt.Fprint(p.Out, content)
	return err
}

// ResultJSON is the one object of --format json.
func ResultJSON(res *tongs.Result) any {
	metadata := res.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	if res.Error == nil {
		return struct {
			OK          bool               `json:"ok"`
			Title       string             `json:"title"`
			Content     string             `json:"content"`
			Display     string             `json:"display,omitempty"`
			Value       any                `json:"value"`
			Metadata    map[string]any     `json:"metadata"`
			Attachments []tongs.Attachment `json:"attachments"`
		}{true, res.Title, res.Content, res.Display, rawOrNil(res.Value), metadata, List(res.Attachments)}
	}
	details := res.Error.Details
	if details == nil {
		details = map[string]any{}
	}
	failure := struct {
		Code    tongs.Code     `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	}{res.Error.Code, res.Error.Message, details}
	failed := struct {
		OK    bool `json:"ok"`
		Error any  `json:"error"`
		// Content is what the model sees beside the error. Value is what a call made before it failed, such as the partial
		// output of a command.
		Content  string         `json:"content,omitempty"`
		Display  string         `json:"display,omitempty"`
		Value    any            `json:"value,omitempty"`
		Metadata map[string]any `json:"metadata,omitempty"`
	}{OK: false, Error: failure, Content: partial(res), Display: res.Display}
	if len(res.Value) > 0 || failed.Content != "" {
		failed.Value, failed.Metadata = rawOrNil(res.Value), metadata
	}
	return failed
}

func rawOrNil(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	return rawJSON(raw)
}

type rawJSON []byte

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }
