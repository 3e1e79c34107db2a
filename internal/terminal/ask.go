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
)

// Asker is the channel that asks at the terminal. It shows one question at a time.
type Asker struct {
	mu sync.Mutex
	// Cancel ends the call that asks; Ctrl-C does it.
	Cancel context.CancelFunc
	// Validate checks edited arguments; nil accepts any object.
	Validate func(ctx context.Context, tool string, args json.RawMessage) error
	// Previews has what is too long to stand in a question; nil has none.
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
	answer, err := (&prompt{Terminal: t, Asker: a, q: q, palette: newPalette()}).run(ctx)
	switch {
	case errors.Is(err, ErrCancelled):
		fmt.Fprintln(t.w, "\nCancelled; nothing was approved.")
		a.Cancel()
		return nil, err
	case ctx.Err() != nil:
		fmt.Fprintln(t.w, "\nThe question is over; it was answered elsewhere or the call ended.")
		return nil, ctx.Err()
	}
	return answer, err
}

// prompt is one question on the screen.
type prompt struct {
	*Terminal
	*Asker
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
		key, err := p.Key(ctx, "Your choice (Ctrl-C cancels the call): ", p.accepted())
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
		return nil, ErrCancelled
	}
}

func (p *prompt) answer(a approval.Answer) *approval.Answer {
	a.Channel, a.By = "terminal", Whoami()
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
	p.Option("y", "approve once")
	rule := strings.Join(p.q.Remember, "; ")
	if slices.Contains(p.q.Scopes, approval.Session) {
		p.Option("s", "approve for this session: "+Clean(rule))
	}
	if slices.Contains(p.q.Scopes, approval.Always) {
		p.Option("a", "approve always: "+Clean(rule))
	}
	p.Option("e", "edit the arguments first")
	p.Option("n", "deny, with a reason that the agent sees")
}

// show prints the question: what would happen last, beside the choices, so that no preview can push it off the screen.
func (p *prompt) show(limit int) {
	width := p.width()
	plain := func(string) lipgloss.Style { return lipgloss.NewStyle() }
	fmt.Fprintf(p.w, "\n%s %s\n", p.title.Render(Clean(p.q.Tool)), "asks for approval.")
	if args := Indented(p.q.Args); limit == 0 || p.q.Preview == "" {
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
	for _, line := range EffectLines(p.q.Effects) {
		fmt.Fprintln(p.w, "  "+line)
	}
}

// about prints who asks, why, and what a person should know first.
func (p *prompt) about(limit int) {
	if len(p.q.Agents) > 0 {
		fmt.Fprintf(p.w, "For:     %s\n", Clean(strings.Join(p.q.Agents, " > ")))
	}
	if p.q.Reason != "" {
		fmt.Fprintln(p.w, "The agent says:")
		quoted(p.w, p.q.Reason, p.width(), min(limit, 10), func(string) lipgloss.Style { return lipgloss.NewStyle() })
	}
	if !p.q.Source.BuiltIn() {
		fmt.Fprintf(p.w, "From:    %s %s\n", Clean(string(p.q.Source.Kind)), Clean(p.q.Source.Name))
	}
	for _, note := range p.q.Notes {
		fmt.Fprintln(p.w, p.warn.Render("Note:    "+Clean(note)))
	}
	fmt.Fprintf(p.w, "What:    %s\n", Clean(p.q.Message))
	fmt.Fprintf(p.w, "Asked:   %s\n", Clean(p.q.Why))
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
func (p *prompt) remember(ctx context.Context, scope approval.Scope) (*approval.Answer, error) {
	how := "for this session"
	if scope == approval.Always {
		how = "always, in this workspace"
	}
	fmt.Fprintf(p.w, "%s will be allowed %s to:\n", Clean(p.q.Tool), how)
	for _, line := range p.q.Remember {
		fmt.Fprintln(p.w, "  "+p.title.Render(Clean(line)))
	}
	key, err := p.Key(ctx, "Enter saves this, e edits it, Esc goes back: ", "\r\ne\x1b")
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
	text := Indented(p.q.Args) + "\n"
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
	quoted(p.w, Indented(args), p.width(), 0, func(string) lipgloss.Style { return lipgloss.NewStyle() })
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

// Indented spells JSON on several lines; what is no JSON stays as it is.
func Indented(raw json.RawMessage) string {
	var buf bytes.Buffer
	if len(raw) == 0 {
		return "{}"
	}
	if err := json.Indent(&buf, raw, "", "  "); err != nil {
		return string(raw)
	}
	return buf.String()
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
