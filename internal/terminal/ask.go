package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/question"
)

// Asker is the channel that asks at the terminal. It shows one question at a time.
type Asker struct {
	mu sync.Mutex
	// Cancel ends the call that asks; Ctrl-C does it.
	Cancel context.CancelFunc
	// Validate checks edited arguments; nil accepts any object.
	Validate func(ctx context.Context, tool string, args json.RawMessage) error
	// Bell rings when a question appears; Notify has the terminal show a notification then, if it is one that can.
	Bell, Notify bool
	// Abandoned reports whether no call waits for the answer to a question any more; nil means that one does.
	Abandoned func(id string) bool
	// Previews has what is too long for a question; nil has none.
	Previews *approval.Previews
}

var _ approval.Channel = (*Asker)(nil)

// Ask shows the question and returns what the person says, nil where there is no terminal.
func (a *Asker) Ask(ctx context.Context, q approval.Question) (*approval.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, err := Open()
	if err != nil {
		return nil, nil
	}
	defer t.Close()
	answer, err := newPrompt(t, a, q).run(ctx)
	switch {
	case errors.Is(err, ErrCancelled):
		fmt.Fprintln(t.w, "\nCancelled; nothing was approved.")
		a.Cancel()
		return nil, err
	case ctx.Err() != nil:
		fmt.Fprintln(t.w, "\nThis question is closed: it was answered elsewhere, or the call ended.")
		return nil, ctx.Err()
	}
	return answer, err
}

// prompt is one question on the screen.
type prompt struct {
	*Terminal
	*Asker
	palette
	q     approval.Question
	parts *question.Parts
	// listed is how many of the changes are listed: where there are many, a directory stands for what is in it.
	listed int
}

// newPrompt puts a question on a terminal.
func newPrompt(t *Terminal, a *Asker, q approval.Question) *prompt {
	p := &prompt{Terminal: t, Asker: a, q: q, palette: newPalette(), listed: len(q.Changes)}
	if q.ChangeCount > listLines {
		p.q.Changes = slices.Clone(q.Changes)
		p.listed = approval.Fold(p.q.Changes)
	}
	p.parts = question.Of(&p.q)
	return p
}

func (p *prompt) run(ctx context.Context) (*approval.Answer, error) {
	if p.Bell {
		fmt.Fprint(p.out, "\a")
	}
	if p.Notify {
		fmt.Fprint(p.out, notification(question.What(&p.q), os.Getenv))
	}
	if p.Abandoned != nil && p.Abandoned(p.q.ID) {
		p.parts.Warnings = append(p.parts.Warnings, "its call no longer waits for the answer")
	}
	p.draw(false)
	for {
		p.choices()
		key, err := p.Key(ctx, " > ", p.accepted())
		if err != nil {
			return nil, err
		}
		answer, err := p.choose(ctx, key)
		if errors.Is(err, errBack) {
			fmt.Fprintln(p.w)
			continue
		}
		if answer != nil || err != nil {
			return answer, err
		}
	}
}

// choose acts on a key. A nil answer without an error asks again.
func (p *prompt) choose(ctx context.Context, key byte) (*approval.Answer, error) {
	fmt.Fprintf(p.w, "%c\n", key)
	i := slices.IndexFunc(p.parts.Choices, func(c question.Choice) bool { return c.Key == string(key) })
	switch c := p.parts.Choices[i]; c.Name {
	case question.Always:
		return p.remember(ctx, c)
	case question.Keep:
		return p.keepSome(ctx)
	case question.Change:
		return p.edit(ctx)
	case question.No:
		return p.deny(ctx)
	case question.Details:
		if err := p.pageAll(ctx); err != nil {
			return nil, err
		}
		fmt.Fprintln(p.w)
		p.headline()
		return nil, nil
	default:
		return p.answer(c.Answer()), nil
	}
}

func (p *prompt) answer(a approval.Answer) *approval.Answer {
	a.Channel, a.By = "terminal", Whoami()
	return &a
}

// EffectLines describes effects in plain words, one on each line.
func EffectLines(effects []tongs.Effect) []string {
	lines := make([]string, 0, len(effects))
	for _, e := range effects {
		line := map[tongs.EffectKind]string{
			tongs.EffectRead: "read ", tongs.EffectWrite: "write ", tongs.EffectDelete: "delete ",
			tongs.EffectExecute: "run ", tongs.EffectNetwork: "connect to ",
		}[e.Kind]
		switch {
		case e.Unknown:
			line += "anything (the tool cannot tell beforehand)"
		case e.Kind.OnPath() && e.Version == tongs.Absent && e.Kind == tongs.EffectWrite:
			line = "create " + Clean(e.Target())
		default:
			line += Clean(e.Target())
		}
		if e.Sends {
			line += ", sending data"
		}
		if e.Why != "" {
			line += " (" + Clean(e.Why) + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// remember shows the rule that would be kept and lets the person change it.
func (p *prompt) remember(ctx context.Context, c question.Choice) (*approval.Answer, error) {
	a := c.Answer()
	for {
		fmt.Fprintf(p.w, " %s will be allowed to:\n", Clean(p.q.Tool))
		for _, line := range a.Remember {
			fmt.Fprintln(p.w, "   "+p.title.Render(Clean(line)))
		}
		key, err := p.Key(ctx, " Enter: always in this workspace   s: this session only   e: edit the rule   Esc: back  ", "\r\nse\x1b")
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(p.w)
		switch key {
		case 0x1b:
			return nil, errBack
		case 's':
			a.Scope = approval.Session
			return p.answer(a), nil
		case 'e':
			lines, err := p.editRule(ctx, a.Remember)
			if err != nil {
				return nil, err
			}
			a.Remember = lines
		default:
			return p.answer(a), nil
		}
	}
}

// editRule lets the person change each line of a rule, until it can be remembered. An empty line goes.
func (p *prompt) editRule(ctx context.Context, rule []string) (lines []string, err error) {
	for _, line := range rule {
		for {
			if line, err = p.line(ctx, " rule: ", line); err != nil {
				return nil, err
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if _, err := policy.ParseCover(line); err != nil {
				fmt.Fprintln(p.w, " "+p.warn.Render("! "+Clean(err.Error())))
				continue
			}
			lines = append(lines, line)
			break
		}
	}
	if len(lines) == 0 {
		fmt.Fprintln(p.w, " The rule is empty now.")
		return nil, errBack
	}
	return lines, nil
}

func (p *prompt) deny(ctx context.Context) (*approval.Answer, error) {
	reason, err := p.line(ctx, "Reason for the agent (Enter for none, Esc goes back): ", "")
	if err != nil {
		return nil, err
	}
	return p.answer(approval.Answer{Reason: strings.TrimSpace(reason)}), nil
}

// edit lets the person change the arguments in an editor, checks them, and shows them before they are approved.
func (p *prompt) edit(ctx context.Context) (*approval.Answer, error) {
	text := question.Indented(p.q.Args) + "\n"
	for {
		edited, err := p.editor(ctx, text)
		if err != nil {
			fmt.Fprintln(p.w, p.warn.Render(Clean(err.Error())))
			return nil, errBack
		}
		args, err := p.check(ctx, edited)
		if err == nil {
			return p.confirmArgs(ctx, args)
		}
		fmt.Fprintln(p.w, p.warn.Render("These arguments do not work:"))
		quoted(p.w, err.Error(), p.width(), 20, func(string) lipgloss.Style { return lipgloss.NewStyle() })
		if key, err := p.Key(ctx, "e edits again, Esc goes back: ", "e\x1b"); err != nil || key != 'e' {
			return nil, errors.Join(err, errBack)
		}
		fmt.Fprintln(p.w)
		text = edited
	}
}

func (p *prompt) check(ctx context.Context, text string) (json.RawMessage, error) {
	args, err := ParseObject([]byte(text))
	if err != nil {
		return nil, err
	}
	if p.Validate != nil {
		if err := p.Validate(ctx, p.q.Tool, args); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (p *prompt) confirmArgs(ctx context.Context, args json.RawMessage) (*approval.Answer, error) {
	fmt.Fprintln(p.w, "The call would be made with these arguments instead:")
	quoted(p.w, question.Indented(args), p.width(), 0, func(string) lipgloss.Style { return lipgloss.NewStyle() })
	key, err := p.Key(ctx, "y approves that once, Esc goes back: ", "y\x1b")
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(p.w)
	if key != 'y' {
		return nil, errBack
	}
	return p.answer(approval.Answer{Approved: true, Scope: approval.Once, Args: args}), nil
}

// editor opens text in the person's editor at this terminal.
func (p *prompt) editor(ctx context.Context, text string) (string, error) {
	dir, err := os.MkdirTemp("", "tongs-edit-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "arguments.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	argv := append(editorCommand(), file)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, p.out, p.out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the editor %s failed: %w; set EDITOR to another one", argv[0], err)
	}
	data, err := os.ReadFile(file)
	return string(data), err
}

func editorCommand() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if argv := strings.Fields(os.Getenv(name)); len(argv) > 0 {
			return argv
		}
	}
	if runtime.GOOS == "windows" {
		return []string{"notepad"}
	}
	return []string{"vi"}
}

// Whoami names the person as the system knows them.
func Whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// ParseObject checks that data is one JSON object.
func ParseObject(data []byte) (json.RawMessage, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return nil, fmt.Errorf("the arguments are not a JSON object: %.40q; want for example {\"path\":\"go.mod\"}", data)
	}
	if !json.Valid(data) {
		err := json.Unmarshal(data, new(map[string]json.RawMessage))
		return nil, fmt.Errorf("the arguments are not valid JSON: %v", err)
	}
	return data, nil
}
