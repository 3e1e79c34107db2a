package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/tongs-ai/tongs"
)

// Validate says what is wrong with a rule, nil where nothing is. Configuration calls it when it loads one: Decide reads
// a malformed rule strictly, which is safe but seldom what was meant.
func Validate(r tongs.Rule) error {
	switch {
	case clampDecision(r.Decision) != r.Decision:
		return fmt.Errorf("decision %d is not one of preApproved, ask, blocked", int(r.Decision))
	case r.Layer > tongs.LayerWorker:
		return fmt.Errorf("layer %d is not one of managed, user, workspace, worker", int(r.Layer))
	case r.Effects&^allKinds != 0:
		return errors.New("effects: it has a kind that is not one of read, write, delete, execute, network")
	case r.Outcome && (r.Decision != tongs.PreApproved || r.Effects != tongs.Kinds(tongs.EffectExecute) || r.Fallback):
		return errors.New("what a program changes on a copy can be decided where a rule about commands pre-approves it; what is asked for or " +
			"blocked is decided before anything runs")
	case r.Undoable && (r.Effects == 0 || r.Effects&^undoableKinds != 0 || r.Fallback):
		return errors.New("a rule about what can be undone is about effects of the kinds write and delete, and is no default")
	case r.Pattern != "" && r.Effects == 0:
		return fmt.Errorf("pattern %q: say which effects it is about: read, write, delete, execute or network", r.Pattern)
	}
	if err := checkBranch(r); err != nil {
		return fmt.Errorf("branch %q: %w", r.Branch, err)
	}
	if err := checkName(r.Tool); err != nil {
		return err
	}
	if r.Pattern == "" {
		return nil
	}
	if family(r.Effects) == 0 {
		return fmt.Errorf("pattern %q: paths, commands and hosts are written differently; make one rule for each", r.Pattern)
	}
	if err := checkPattern(family(r.Effects), r.Pattern); err != nil {
		return fmt.Errorf("pattern %q: %w", r.Pattern, err)
	}
	return nil
}

const (
	pathKinds = tongs.EffectKinds(tongs.EffectRead | tongs.EffectWrite | tongs.EffectDelete)
	// undoableKinds are those that the journal can take back.
	undoableKinds = tongs.EffectKinds(tongs.EffectWrite | tongs.EffectDelete)
	allKinds      = pathKinds | tongs.EffectKinds(tongs.EffectExecute|tongs.EffectNetwork)
)

// family returns a kind that stands for all in the set, where their patterns are of one form, else 0.
func family(kinds tongs.EffectKinds) tongs.EffectKind {
	switch {
	case kinds != 0 && kinds&^pathKinds == 0:
		for _, k := range [...]tongs.EffectKind{tongs.EffectRead, tongs.EffectWrite, tongs.EffectDelete} {
			if kinds.Has(k) {
				return k
			}
		}
	case kinds == tongs.Kinds(tongs.EffectExecute):
		return tongs.EffectExecute
	case kinds == tongs.Kinds(tongs.EffectNetwork):
		return tongs.EffectNetwork
	}
	return 0
}

// checkName says what is wrong with the name of a tool or a pattern of names. MCP tools are named server__tool.
func checkName(name string) error {
	for _, c := range name {
		if c != '*' && c != '_' && c != '-' && (c < '0' || c > '9') && (c > 127 || lower(byte(c)) < 'a' || lower(byte(c)) > 'z') {
			return fmt.Errorf("tool %q: a name has letters, digits, _ and -, and * for any of them; it cannot have %q", name, c)
		}
	}
	return nil
}

// checkPattern says what is wrong with a pattern for effects of the kind.
func checkPattern(kind tongs.EffectKind, pattern string) error {
	switch {
	case kind.OnPath():
		return checkGlob(pattern)
	case kind == tongs.EffectExecute:
		return checkArgv(pattern)
	default:
		return checkHost(pattern)
	}
}

// checkGlob says what is wrong with a pattern of paths.
func checkGlob(pattern string) error {
	switch glob, _ := cleanGlob(pattern); {
	case glob == "/":
		return errors.New("name a zone, as in /cache/**, or write . for the workspace")
	case strings.HasPrefix(glob, "~"):
		return errors.New("paths are in the workspace (src/**) or in a zone (/cache/**); the home directory is in neither")
	case strings.Contains(glob, "//"):
		return errors.New("it has an empty part between slashes")
	case !doublestar.ValidatePattern(glob):
		return errors.New("it is not a glob: a bracket or brace is not closed, or a backslash escapes nothing")
	case costly(glob):
		return errCostly
	case glob == "." || glob == "":
		return nil
	default:
		for part := range strings.SplitSeq(glob, "/") {
			if part == ".." || part == "." {
				return fmt.Errorf("a path that is matched has no %q in it; write the path from the root of the workspace or zone", part)
			}
		}
		return nil
	}
}

// CheckExamples holds a rule against examples of what it should match and what not: commands, paths or hosts, as its
// effects are. A command is split at blanks; quotes keep a word together.
func CheckExamples(r tongs.Rule, match, notMatch []string) error {
	if err := Validate(r); err != nil {
		return err
	}
	if len(match)+len(notMatch) == 0 {
		return nil
	}
	kind := family(r.Effects)
	if kind == 0 {
		return errors.New("examples need a rule about effects of one form: paths, commands or hosts")
	}
	var wrong []error
	for i, text := range append(match[:len(match):len(match)], notMatch...) {
		e, err := example(kind, text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("example %q: %w", text, err))
			continue
		}
		want := i < len(match)
		switch got := r.Pattern == "" || exampleMet(r, &e); {
		case want && !got:
			wrong = append(wrong, fmt.Errorf("the pattern %q does not match the example %q", r.Pattern, text))
		case !want && got:
			wrong = append(wrong, fmt.Errorf("the pattern %q matches %q, which notMatch lists", r.Pattern, text))
		}
	}
	return errors.Join(wrong...)
}

func exampleMet(r tongs.Rule, e *tongs.Effect) bool {
	if r.Decision == tongs.PreApproved {
		return leniently(r.Pattern, e) == yes
	}
	return strictly(r.Pattern, e) == yes
}

// example makes an effect of a text.
func example(kind tongs.EffectKind, text string) (tongs.Effect, error) {
	e := tongs.Effect{Kind: kind}
	switch {
	case kind == tongs.EffectExecute:
		tokens, err := exampleWords(text)
		if err != nil {
			return e, err
		}
		e.Argv = tokens
	case kind == tongs.EffectNetwork:
		if err := checkHost(text); err != nil || strings.Contains(text, "*") {
			return e, errors.Join(errors.New("it is not a host"), err)
		}
		e.Host = text
	default:
		return e, examplePath(&e, text)
	}
	return e, nil
}

// exampleWords splits a command. Stars in it are themselves.
func exampleWords(text string) (words []string, err error) {
	l := lexer{text}
	for {
		t, ok, err := l.next()
		switch {
		case err != nil:
			return nil, err
		case !ok && len(words) == 0:
			return nil, errors.New("it is empty")
		case !ok:
			return words, nil
		case t.quoted:
			words = append(words, strings.Join(t.parts, "*"))
		default:
			words = append(words, t.raw)
		}
	}
}

func examplePath(e *tongs.Effect, text string) error {
	if text == "" || path.Clean(text) != strings.TrimSuffix(text, "/") && text != "/" {
		return errors.New("it is not a clean path in the workspace or in a zone")
	}
	e.Path = tongs.Path{Rel: strings.TrimSuffix(text, "/")}
	if rest, ok := strings.CutPrefix(text, "/"); ok {
		root, rel, _ := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
		if root == "" {
			return errors.New("it names no zone")
		}
		if rel == "" {
			rel = "."
		}
		e.Path = tongs.Path{Root: root, Rel: rel}
	}
	return nil
}
