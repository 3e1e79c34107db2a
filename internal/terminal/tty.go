package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// Terminal is the terminal that a person sits at: the one that controls this process, whatever its standard streams
// are connected to.
type Terminal struct {
	in, out *os.File
	// w writes to out in the colours it can show.
	w io.Writer
}

var (
	errNoTerminal = errors.New("there is no terminal to ask at")
	// ErrCancelled is Ctrl-C; errBack is Esc.
	ErrCancelled = errors.New("cancelled at the terminal")
	errBack      = errors.New("back")
)

// Open opens the terminal. It fails where the process has none, is in the background, or has none of its
// streams connected to one: then nobody looks at it.
func Open() (*Terminal, error) {
	if !IsTerminal(os.Stdin) && !IsTerminal(os.Stdout) && !IsTerminal(os.Stderr) {
		return nil, errNoTerminal
	}
	in, out, err := openConsole()
	if err != nil {
		return nil, errNoTerminal
	}
	t := &Terminal{in: in, out: out, w: colorprofile.NewWriter(out, os.Environ())}
	if !term.IsTerminal(int(in.Fd())) || !foreground(in) {
		t.Close()
		return nil, errNoTerminal
	}
	return t, nil
}

// Write implements io.Writer, in the colours that the terminal can show.
func (t *Terminal) Write(p []byte) (int, error) { return t.w.Write(p) }

// Quote prints all of a text from elsewhere, each line of it behind a bar.
func (t *Terminal) Quote(text string) {
	quoted(t.w, text, t.width(), 0, func(string) lipgloss.Style { return lipgloss.NewStyle() })
}

// QuoteDiff is quote for a unified diff.
func (t *Terminal) QuoteDiff(text string) { quoted(t.w, text, t.width(), 0, diffStyle(newPalette())) }

// Option prints a choice and its key.
func (t *Terminal) Option(key, what string) {
	fmt.Fprintf(t.w, "  %s  %s\n", newPalette().hotkey.Render(key), what)
}

// Close ends the use of the terminal.
func (t *Terminal) Close() {
	_ = t.in.Close()
	if t.out != t.in {
		_ = t.out.Close()
	}
}

func (t *Terminal) height() int {
	if _, h, err := term.GetSize(int(t.out.Fd())); err == nil && h > 5 {
		return h
	}
	return 24
}

func (t *Terminal) width() int {
	if w, _, err := term.GetSize(int(t.out.Fd())); err == nil && w > 20 {
		return w
	}
	return 80
}

// keys prints the prompt and calls f with a function that returns what was typed since it was last called, until f
// returns. What was typed before the prompt is thrown away: it was meant for something else. Nothing is echoed. When
// ctx ends, reading fails.
func (t *Terminal) keys(ctx context.Context, prompt string, f func(read func() ([]byte, error)) error) error {
	old, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(t.in.Fd()), old) }()
	flushInput(t.in)
	io.WriteString(t.w, prompt)
	r, err := cancelreader.NewReader(t.in)
	if err != nil {
		return err
	}
	defer r.Close()
	stop := context.AfterFunc(ctx, func() { r.Cancel() })
	defer stop()
	return f(func() ([]byte, error) {
		buf := make([]byte, 256)
		n, err := r.Read(buf)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case strings.ContainsRune(string(buf[:n]), 3):
			return nil, ErrCancelled
		}
		return buf[:n], nil
	})
}

// Key prints the prompt, which has no line end, and waits for one of the keys. Anything else, pasted text and the keys that send several characters included, is
// ignored: an arrow key ends in a letter.
func (t *Terminal) Key(ctx context.Context, prompt, wanted string) (key byte, err error) {
	err = t.keys(ctx, prompt, func(read func() ([]byte, error)) error {
		for {
			typed, err := read()
			if err != nil {
				return err
			}
			if len(typed) == 1 && strings.IndexByte(wanted, typed[0]) >= 0 {
				key = typed[0]
				return nil
			}
		}
	})
	return key, err
}

// line prints the prompt and reads a line that starts as text and can be edited at its end. Esc gives errBack.
func (t *Terminal) line(ctx context.Context, prompt, text string) (string, error) {
	line := []rune(text)
	err := t.keys(ctx, prompt+Clean(text), func(read func() ([]byte, error)) error {
		for {
			typed, err := read()
			if err != nil {
				return err
			}
			if typed[0] == 0x1b {
				if len(typed) == 1 {
					return errBack
				}
				continue
			}
			for len(typed) > 0 {
				r, n := utf8.DecodeRune(typed)
				typed = typed[n:]
				switch {
				case r == '\r' || r == '\n':
					return nil
				case r == 0x7f || r == '\b':
					line = t.erase(line, 1)
				case r == 0x15: // Ctrl-U
					line = t.erase(line, len(line))
				case r >= ' ' && r != utf8.RuneError && len(line) < 4000:
					line = append(line, r)
					io.WriteString(t.w, Clean(string(r)))
				}
			}
		}
	})
	io.WriteString(t.out, "\r\n")
	return string(line), err
}

// erase takes the last n characters off the line and off the screen.
func (t *Terminal) erase(line []rune, n int) []rune {
	n = min(n, len(line))
	for _, r := range line[len(line)-n:] {
		for range []rune(Clean(string(r))) {
			io.WriteString(t.out, "\b \b")
		}
	}
	return line[:len(line)-n]
}
