package cli

import (
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// maxShown is how much of what a call streamed to a terminal is remembered, so as not to show it twice.
const maxShown = 64 << 10

// Sink shows the updates of a running call on standard error.
func (p *Printer) Sink(format string) func(tongs.Update) {
	if format == "json" {
		return nil
	}
	live := terminal.IsTerminal(p.Err)
	both := live && terminal.IsTerminal(p.Out)
	return func(u tongs.Update) {
		switch {
		case u.Text != "" && live:
			text := terminal.CleanLines(u.Text)
			fmt.Fprint(p.Err, text)
			if both && p.shown.Len()+len(text) <= maxShown {
				p.shown.WriteString(text)
			}
		case u.Text != "":
			fmt.Fprint(p.Err, u.Text)
		case u.Waiting != "": // the question itself is shown by whoever asks it
		case u.Title != "" && u.Total > 0:
			fmt.Fprintf(p.Err, "%s (%g of %g)\n", terminal.Clean(u.Title), u.Done, u.Total)
		case u.Title != "":
			fmt.Fprintln(p.Err, terminal.Clean(u.Title))
		}
	}
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
		if partial := strings.TrimPrefix(res.Content, res.Error.Error()); strings.TrimSpace(partial) != "" {
			p.Content(strings.TrimPrefix(partial, "\n"))
		}
		fmt.Fprintf(p.Err, "tongs: %s\n", terminal.CleanLines(res.Error.Error()))
		return nil
	}
	if err := p.Content(res.Content); err != nil {
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

// Content writes content as it is, or, to a terminal, without what the terminal would act on.
func (p *Printer) Content(content string) error {
	if terminal.IsTerminal(p.Out) {
		content = strings.TrimPrefix(terminal.CleanLines(content), strings.TrimSuffix(p.shown.String(), "\n"))
		content = strings.TrimPrefix(content, "\n")
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
			Value       any                `json:"value"`
			Metadata    map[string]any     `json:"metadata"`
			Attachments []tongs.Attachment `json:"attachments"`
		}{true, res.Title, res.Content, rawOrNil(res.Value), metadata, List(res.Attachments)}
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
		// Value is what a call made before it failed, such as the partial output of a command; Metadata is of that.
		Value    any            `json:"value,omitempty"`
		Metadata map[string]any `json:"metadata,omitempty"`
	}{OK: false, Error: failure}
	if len(res.Value) > 0 {
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
