package main

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
	"github.com/tongs-ai/tongs/approval"
)

// asker is the channel that asks at the terminal. It shows one question at a time.
type asker struct {
	mu sync.Mutex
	// cancel ends the call that asks; Ctrl-C does it.
	cancel context.CancelFunc
	// validate checks edited arguments; nil accepts any object.
	validate func(ctx context.Context, tool string, args json.RawMessage) error
	// previews has what is too long to stand in a question; nil has none.
	previews *approval.Previews
}

var _ approval.Channel = (*asker)(nil)

// Ask shows the question and returns what the person says, nil where there is no terminal.
func (a *asker) Ask(ctx context.Context, q approval.Question) (*approval.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, err := openTerminal()
	if err != nil {
		return nil, nil
	}
	defer t.close()
	answer, err := (&prompt{terminal: t, asker: a, q: q, palette: newPalette()}).run(ctx)
	switch {
	case errors.Is(err, errCancelled):
		fmt.Fprintln(t.w, "\nCancelled; nothing was approved.")
		a.cancel()
		return nil, err
	case ctx.Err() != nil:
		fmt.Fprintln(t.w, "\nThe question is over; it was answered elsewhere or the call ended.")
		return nil, ctx.Err()
	}
	return answer, err
}

// prompt is one question on the screen.
type prompt struct {
	*terminal
	*asker
	palette
	q approval.Question
	// outer is how many of the changes of the question tell of all of them.
	outer int
}

// previewLines is how much of a preview is shown before somebody asks for all of it.
const previewLines = 60

func (p *prompt) run(ctx context.Context) (*approval.Answer, error) {
	if p.q.ChangeCount > 0 {
		return p.runOutcome(ctx)
	}
	p.show(previewLines)
	for {
		p.choices()
		key, err := p.key(ctx, "Your choice (Ctrl-C cancels the call): ", p.accepted())
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
	switch key {
	case 'y':
		return p.answer(approval.Answer{Approved: true, Scope: approval.Once}), nil
	case 's', 'a':
		return p.remember(ctx, map[byte]approval.Scope{'s': approval.Session, 'a': approval.Always}[key])
	case 'e':
		return p.edit(ctx)
	case 'n':
		return p.deny(ctx)
	case 'v':
		if err := p.pageAll(ctx); err != nil {
			return nil, err
		}
		p.about(0)
		p.effects()
		return nil, nil
	default:
		return nil, errCancelled
	}
}

func (p *prompt) answer(a approval.Answer) *approval.Answer {
	a.Channel, a.By = "terminal", whoami()
	return &a
}

func (p *prompt) accepted() string {
	keys := "yenq"
	if slices.Contains(p.q.Scopes, approval.Session) {
		keys += "s"
	}
	if slices.Contains(p.q.Scopes, approval.Always) {
		keys += "a"
	}
	if p.q.Preview != "" || len(p.q.Args) > 0 {
		keys += "v"
	}
	return keys
}

func (p *prompt) choices() {
	option := func(key, what string) { fmt.Fprintf(p.w, "  %s  %s\n", p.hotkey.Render(key), what) }
	option("y", "approve once")
	rule := strings.Join(p.q.Remember, "; ")
	if slices.Contains(p.q.Scopes, approval.Session) {
		option("s", "approve for this session: "+clean(rule))
	}
	if slices.Contains(p.q.Scopes, approval.Always) {
		option("a", "approve always: "+clean(rule))
	}
	option("e", "edit the arguments first")
	option("n", "deny, with a reason that the agent sees")
}

// show prints the question: what would happen last, beside the choices, so that no preview can push it off the screen.
func (p *prompt) show(limit int) {
	width := p.width()
	plain := func(string) lipgloss.Style { return lipgloss.NewStyle() }
	fmt.Fprintf(p.w, "\n%s %s\n", p.title.Render(clean(p.q.Tool)), "asks for approval.")
	if args := indented(p.q.Args); limit == 0 || p.q.Preview == "" {
		fmt.Fprintln(p.w, p.faint.Render("Arguments:"))
		quoted(p.w, args, width, limit, plain)
	}
	if p.q.Preview != "" {
		fmt.Fprintln(p.w, p.faint.Render("What would change:"))
		quoted(p.w, p.q.Preview, width, limit, diffStyle(p.palette))
	}
	p.about(limit)
	p.effects()
}

// effects prints what the call would do.
func (p *prompt) effects() {
	fmt.Fprintln(p.w, p.title.Render("It would:"))
	for _, line := range effectLines(p.q.Effects) {
		fmt.Fprintln(p.w, "  "+line)
	}
}

// about prints who asks, why, and what a person should know first.
func (p *prompt) about(limit int) {
	if len(p.q.Agents) > 0 {
		fmt.Fprintf(p.w, "For:     %s\n", clean(strings.Join(p.q.Agents, " > ")))
	}
	if p.q.Reason != "" {
		fmt.Fprintln(p.w, "The agent says:")
		quoted(p.w, p.q.Reason, p.width(), min(limit, 10), func(string) lipgloss.Style { return lipgloss.NewStyle() })
	}
	if !p.q.Source.BuiltIn() {
		fmt.Fprintf(p.w, "From:    %s %s\n", clean(string(p.q.Source.Kind)), clean(p.q.Source.Name))
	}
	for _, note := range p.q.Notes {
		fmt.Fprintln(p.w, p.warn.Render("Note:    "+clean(note)))
	}
	fmt.Fprintf(p.w, "What:    %s\n", clean(p.q.Message))
	fmt.Fprintf(p.w, "Asked:   %s\n", clean(p.q.Why))
}

// effectLines describes effects in plain words, one on each line.
func effectLines(effects []tongs.Effect) []string {
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
			line = "create " + clean(e.Target())
		default:
			line += clean(e.Target())
		}
		if e.Sends {
			line += ", sending data"
		}
		if e.Why != "" {
			line += " (" + clean(e.Why) + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// remember shows the rule that would be kept and lets the person change it.
func (p *prompt) remember(ctx context.Context, scope approval.Scope) (*approval.Answer, error) {
	how := "for this session"
	if scope == approval.Always {
		how = "always, in this workspace"
	}
	fmt.Fprintf(p.w, "%s will be allowed %s to:\n", clean(p.q.Tool), how)
	for _, line := range p.q.Remember {
		fmt.Fprintln(p.w, "  "+p.title.Render(clean(line)))
	}
	key, err := p.key(ctx, "Enter saves this, e edits it, Esc goes back: ", "\r\ne\x1b")
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(p.w)
	a := approval.Answer{Approved: true, Scope: scope}
	switch key {
	case 0x1b:
		return nil, errBack
	case 'e':
		for _, line := range p.q.Remember {
			edited, err := p.line(ctx, "  rule: ", line)
			if err != nil {
				return nil, err
			}
			if edited = strings.TrimSpace(edited); edited != "" {
				a.Remember = append(a.Remember, edited)
			}
		}
		if len(a.Remember) == 0 {
			fmt.Fprintln(p.w, "Nothing is left of the rule; choose again.")
			return nil, errBack
		}
	}
	return p.answer(a), nil
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
	text := indented(p.q.Args) + "\n"
	for {
		edited, err := p.editor(ctx, text)
		if err != nil {
			fmt.Fprintln(p.w, p.warn.Render(clean(err.Error())))
			return nil, errBack
		}
		args, err := p.check(ctx, edited)
		if err == nil {
			return p.confirmArgs(ctx, args)
		}
		fmt.Fprintln(p.w, p.warn.Render("These arguments do not work:"))
		quoted(p.w, err.Error(), p.width(), 20, func(string) lipgloss.Style { return lipgloss.NewStyle() })
		if key, err := p.key(ctx, "e edits again, Esc goes back: ", "e\x1b"); err != nil || key != 'e' {
			return nil, errors.Join(err, errBack)
		}
		fmt.Fprintln(p.w)
		text = edited
	}
}

func (p *prompt) check(ctx context.Context, text string) (json.RawMessage, error) {
	args, err := object([]byte(text))
	if err != nil {
		return nil, err
	}
	if p.validate != nil {
		if err := p.validate(ctx, p.q.Tool, args); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (p *prompt) confirmArgs(ctx context.Context, args json.RawMessage) (*approval.Answer, error) {
	fmt.Fprintln(p.w, "The call would be made with these arguments instead:")
	quoted(p.w, indented(args), p.width(), 0, func(string) lipgloss.Style { return lipgloss.NewStyle() })
	key, err := p.key(ctx, "y approves that once, Esc goes back: ", "y\x1b")
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

// indented spells JSON on several lines; what is no JSON stays as it is.
func indented(raw json.RawMessage) string {
	var buf bytes.Buffer
	if len(raw) == 0 {
		return "{}"
	}
	if err := json.Indent(&buf, raw, "", "  "); err != nil {
		return string(raw)
	}
	return buf.String()
}

// whoami names the person as the system knows them.
func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}
