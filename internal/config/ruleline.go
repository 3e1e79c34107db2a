package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/nearest"
)

// RuleLine is a rule as a person says it in one line: "ask command git push", "blocked write secrets/**".
type RuleLine struct {
	Decision tongs.Decision
	// Kind is what Pattern is about: command, path (whatever is done to it), read, write, delete, edit (reading and writing, since
	// an edit does both), host (of the web tools), network (a host, or a registry, that commands reach), push (of git: a host, a space
	// and a branch) or tool.
	Kind    string
	Pattern string
}

// RuleKinds are the kinds of a RuleLine.
var RuleKinds = []string{"command", "path", "read", "write", "delete", "edit", "host", "network", "push", "tool"}

// ParseRuleLine reads a rule of one line: a decision, what it is about, and a pattern. Quotes around the pattern are taken
// off.
func ParseRuleLine(text string) (RuleLine, error) {
	var r RuleLine
	if strings.ContainsFunc(text, func(c rune) bool { return !printable(c) }) {
		return r, fmt.Errorf("rule %s: it has characters that cannot be seen", quote(text))
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch strings.ToLower(word) {
	case "preapproved", "allow":
		r.Decision = tongs.PreApproved
	case "ask":
		r.Decision = tongs.Ask
	case "blocked", "block":
		r.Decision = tongs.Blocked
	default:
		return r, fmt.Errorf("rule %s: begin with preApproved, ask or blocked, as in: ask command git push", quote(text))
	}
	kind, pattern, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if r.Kind = kind; !slices.Contains(RuleKinds, kind) {
		hint := ""
		if near := nearest.Word(kind, RuleKinds); near != "" {
			hint = fmt.Sprintf(" (did you mean %s?)", near)
		}
		return r, fmt.Errorf("rule %s: after the decision comes one of %s%s, then a pattern, as in: ask command git push",
			quote(text), strings.Join(RuleKinds, ", "), hint)
	}
	r.Pattern = strings.TrimSpace(pattern)
	if n := len(r.Pattern); n >= 2 && (r.Pattern[0] == '"' || r.Pattern[0] == '\'') && r.Pattern[n-1] == r.Pattern[0] {
		r.Pattern = r.Pattern[1 : n-1]
	}
	if r.Pattern == "" {
		return r, fmt.Errorf("rule %s: say which %s it is about", quote(text), kind)
	}
	_, err := r.Rules()
	return r, err
}

// String spells the line.
func (r RuleLine) String() string { return fmt.Sprintf("%s %s %s", r.Decision, r.Kind, r.Pattern) }

// keys are where the rule stands in a file: a list, or for a tool a mapping.
func (r RuleLine) keys() []string {
	switch r.Kind {
	case "command":
		return []string{"toolsets", "shell", "rules"}
	case "host":
		return []string{"toolsets", "web", "rules"}
	case "network":
		return []string{"sandbox", "network", "hosts"}
	case "push":
		return []string{"sandbox", "network", "pushes"}
	case "tool":
		return []string{"approval", "tools"}
	default:
		return []string{"toolsets", "filesystem", "rules"}
	}
}

// text is what stands below the keys, indented.
func (r RuleLine) text(indent int) string {
	pad := strings.Repeat(" ", indent)
	if r.Kind == "tool" {
		return fmt.Sprintf("%s%s: %s\n", pad, quoted(r.Pattern), r.Decision)
	}
	if r.Kind == "network" {
		return fmt.Sprintf("%s- host: %s\n%s  approval: %s\n", pad, quoted(r.Pattern), pad, r.Decision)
	}
	if r.Kind == "push" {
		host, branch, _ := strings.Cut(r.Pattern, " ")
		return fmt.Sprintf("%s- host: %s\n%s  branch: %s\n%s  approval: %s\n", pad, quoted(host), pad, quoted(strings.TrimSpace(branch)), pad, r.Decision)
	}
	s := fmt.Sprintf("%s- pattern: %s\n%s  approval: %s\n", pad, quoted(r.Pattern), pad, r.Decision)
	switch r.Kind {
	case "read", "write", "delete":
		s += fmt.Sprintf("%s  effects: [%s]\n", pad, r.Kind)
	case "edit":
		s += pad + "  effects: [read, write]\n"
	}
	return s
}

// Narrow refuses to allow nearly everything, as grants do: that is for a person to write down in the file.
func (r RuleLine) Narrow() error {
	kinds := map[string]tongs.EffectKind{
		"command": tongs.EffectExecute, "edit": tongs.EffectWrite, "host": tongs.EffectNetwork, "network": tongs.EffectNetwork, "push": tongs.EffectNetwork,
	}
	pattern, branch := r.Pattern, ""
	if r.Kind == "push" {
		pattern, branch, _ = strings.Cut(r.Pattern, " ")
	}
	kind, ok := kinds[r.Kind]
	switch {
	case r.Decision != tongs.PreApproved:
		return nil
	case r.Kind == "push" && strings.Trim(branch, "* ") == "":
		return fmt.Errorf("%q would allow pushes to every branch; name some, as in: %s agent/*", r.Pattern, pattern)
	case ok:
		if err := (policy.Cover{Kind: kind, Pattern: pattern}).Validate(); err != nil {
			return fmt.Errorf("%q: %w", pattern, err)
		}
	case strings.Trim(pattern, "*") == "":
		return fmt.Errorf("%q would allow every tool; name one, or use a preset ('tongs config presets')", pattern)
	}
	return nil
}

// YAML is the rule as a configuration file says it.
func (r RuleLine) YAML() string {
	keys := r.keys()
	return below(keys, 0) + r.text(2*len(keys))
}

func below(keys []string, indent int) string {
	var b strings.Builder
	for i, key := range keys {
		fmt.Fprintf(&b, "%s%s:\n", strings.Repeat(" ", indent+2*i), key)
	}
	return b.String()
}

// Rules are what the line means in the user's own file: one rule, or several for the hosts of a registry. Their Origin says
// that they are proposed.
func (r RuleLine) Rules() ([]tongs.Rule, error) {
	rules, err := ReadRules([]byte(r.YAML()), "proposed")
	if err != nil {
		if p, ok := errors.AsType[Problem](err); ok {
			err = errors.New(p.Message)
		}
		return nil, fmt.Errorf("rule %s: %w", quote(r.String()), err)
	}
	for i := range rules {
		rules[i].Origin = "proposed"
	}
	return rules, nil
}

// ReadRules reads the rules of a part of a configuration file, as if they stood in the user's own. Anything else that it
// says is an error: rules are proposed by it, not settings. Name stands in messages and origins.
func ReadRules(data []byte, name string) ([]tongs.Rule, error) {
	l := &layer{source: &source{path: name}, kind: tongs.LayerUser, base: name, dir: "/"}
	l.decode(data)
	if err := l.err(); err != nil {
		return nil, failed(err)
	}
	t := l.toolsets
	if l.mode != nil || l.later != nil || l.notify != nil || l.permissions != nil || l.desc != nil || l.writes != nil ||
		len(l.zones)+len(l.limits)+len(l.retention)+len(l.through)+len(l.methods)+len(t.Custom)+len(t.External)+len(t.MCP)+len(t.Workers) > 0 {
		return nil, failed(fmt.Errorf("%s: it says more than rules; only approval and the rules of toolsets can be proposed", name))
	}
	if len(l.rules) == 0 {
		return nil, failed(fmt.Errorf("%s: there is no rule in it; see docs/config.md, or write one as in: ask command git push", name))
	}
	return l.rules, nil
}

// AddRule returns the content of a configuration file with one more rule. Everything else stays as it is, to the byte. A
// file that does not say afterwards what it should is an error, and so is a rule that is there already.
func AddRule(data []byte, r RuleLine) ([]byte, error) {
	want, err := r.Rules()
	if err != nil {
		return nil, failed(err)
	}
	before, err := ruleIDs(data)
	if err != nil {
		return nil, failed(err)
	}
	expected := slices.Clone(before)
	for _, rule := range want {
		expected = append(expected, policy.RuleID(rule))
	}
	if !slices.ContainsFunc(expected[len(before):], func(id string) bool { return !slices.Contains(before, id) }) {
		return nil, tongs.Errorf(tongs.CodeAlreadyExists, "the file has the rule %q already", r.String())
	}
	after, err := insertBelow(data, r.keys(), r.text)
	if err == nil {
		now, readErr := ruleIDs(after)
		slices.Sort(now)
		slices.Sort(expected)
		if err = readErr; err == nil && !slices.Equal(now, expected) {
			err = errors.New("the file is written in a way that cannot be added to")
		}
	}
	if err != nil {
		return nil, failed(fmt.Errorf("%w; put this there yourself:\n%s", err, r.YAML()))
	}
	return after, nil
}

// ruleIDs are those of the rules of a file.
func ruleIDs(data []byte) (ids []string, err error) {
	l := &layer{source: &source{path: "the file"}, kind: tongs.LayerUser, base: "file", dir: "/"}
	l.decode(data)
	for _, r := range l.rules {
		ids = append(ids, policy.RuleID(r))
	}
	return ids, l.err()
}

// insertBelow puts text below nested keys, after what stands there, and makes the keys that are missing.
func insertBelow(data []byte, keys []string, text func(indent int) string) ([]byte, error) {
	s := &source{}
	at := value{node: s.parse(data)}
	line, indent, found := 0, 0, 0 // the line of the last key that is there
	for found < len(keys) {
		i := slices.IndexFunc(s.fields(at), func(f field) bool { return f.key == keys[found] })
		if i < 0 {
			break
		}
		f := s.fields(at)[i]
		line, at = f.keyAt.Line, f.value
		own := f.keyAt.Column - 1
		found++
		var err error
		if indent, err = childIndent(f.node, own); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if len(s.problems) > 0 {
		return nil, s.err()
	}
	missing := keys[found:]
	added := below(missing, indent) + text(indent+2*len(missing))
	if found == 0 { // at the end, as a part of its own
		whole := string(data)
		if strings.TrimSpace(whole) != "" {
			whole = strings.TrimRight(whole, "\n") + "\n\n"
		}
		return []byte(whole + added), nil
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	_, list := at.node.(*ast.SequenceNode)
	line = blockEnd(lines, line, indent, list)
	head := bytes.Join(lines[:line], nil)
	if !bytes.HasSuffix(head, []byte("\n")) {
		head = append(head, '\n')
	}
	return slices.Concat(head, []byte(added), bytes.Join(lines[line:], nil)), nil
}

// blockEnd is the line after which the block ends that begins below a line, indented by so much. Comments at its end may be about
// what comes next, unless there is nothing else in it.
func blockEnd(lines [][]byte, begin, indent int, list bool) int {
	end, empty := begin, true
	for i, raw := range lines[begin:] {
		text := bytes.TrimSpace(raw)
		depth := len(raw) - len(bytes.TrimLeft(raw, " "))
		switch {
		case len(text) == 0:
		case text[0] == '#':
			if empty && depth >= indent {
				end = begin + i + 1
			}
		case depth < indent || depth == indent && list && text[0] != '-':
			return end
		default:
			end, empty = begin+i+1, false
		}
	}
	return end
}

// childIndent is how far what stands below a key is indented.
func childIndent(node ast.Node, own int) (int, error) {
	flow := errors.New("it is written in brackets or braces")
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return own + 2, nil
	case *ast.MappingNode:
		if n.IsFlowStyle {
			return 0, flow
		}
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken().Position.Column - 1, nil
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken().Position.Column - 1, nil
	case *ast.SequenceNode:
		if n.IsFlowStyle || n.Start == nil {
			return 0, flow
		}
		return n.Start.Position.Column - 1, nil
	}
	return own + 2, nil
}
