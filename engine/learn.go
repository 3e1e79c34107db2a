package engine

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
)

// enough is how often a person approves the same kind of thing before a rule for it is offered.
const enough = 3

// offer is the command that makes a rule of what a person approved several times, empty where there is none. Only answers
// count that people gave, so that an agent earns nothing by calling again; and a rule that would cover something that was
// denied, in any workspace, is not offered.
func (d *decision) offer(ctx context.Context, q *approval.Question) string {
	want, ok := lessonOf(q)
	if !ok || d.engine.opt.Approval.Store == nil || slices.ContainsFunc(d.verdict.Effects, explicit) {
		return ""
	}
	past, err := d.engine.opt.Approval.Store.List(ctx, false)
	if err != nil {
		return "" // what is asked does not depend on it
	}
	same := []lesson{want}
	for i := range past {
		p := &past[i]
		if l, ok := lessonOf(p); ok && approvedAsShown(p) && p.Workspace == q.Workspace && l.like(want) {
			same = append(same, l)
		}
	}
	if len(same) <= enough {
		return ""
	}
	kind, pattern := generalise(same)
	if pattern == "" || strings.ContainsAny(pattern, "'\n") || !validCover(kind, pattern) {
		return ""
	}
	for i := range past {
		if covers(kind, pattern, refusedIn(&past[i])) {
			return ""
		}
	}
	if kind == tongs.EffectExecute {
		return "tongs allow '" + pattern + "'"
	}
	return "tongs allow --edits '" + pattern + "'"
}

// explicit reports whether an effect is asked because a rule says so: one more rule would change nothing.
func explicit(j policy.Judgement) bool {
	return j.Decision == tongs.Ask && j.Step != policy.StepDefault && j.Step != policy.StepAsk
}

// lesson is what one rule could cover of a question: one command, or files that are written.
type lesson struct {
	argv  []string
	paths []string // in the workspace
}

// lessonOf returns what a question asks for; false where a rule could not cover all of it.
func lessonOf(q *approval.Question) (l lesson, ok bool) {
	if q.Source.Kind != tongs.SourceBuiltin || q.Elsewhere {
		return l, false
	}
	if len(q.Changes) > 0 {
		return lessonOfChanges(q)
	}
	if !slices.Contains(q.Scopes, approval.Always) || len(q.Remember) == 0 {
		return l, false
	}
	for _, line := range q.Remember {
		c, err := policy.ParseCover(line)
		i := slices.IndexFunc(q.Effects, c.Covers)
		if err != nil || i < 0 {
			return l, false
		}
		switch e := q.Effects[i]; {
		case e.Kind == tongs.EffectRead && slices.ContainsFunc(q.Effects, func(w tongs.Effect) bool { return w.Kind == tongs.EffectWrite && w.Path == e.Path }):
			// an edit reads what it writes, and so does the rule
		case e.Kind == tongs.EffectWrite && e.Path.Root == tongs.WorkspaceRoot && !e.Steers:
			l.paths = append(l.paths, e.Path.Rel)
		case e.Kind == tongs.EffectExecute && e.Version == "" && len(e.Env) == 0 && l.argv == nil:
			l.argv = e.Argv
		default:
			return l, false
		}
	}
	return l, (len(l.argv) > 0) != (len(l.paths) > 0)
}

// lessonOfChanges is that of a question about changes that a program made to a copy.
func lessonOfChanges(q *approval.Question) (l lesson, ok bool) {
	for _, c := range q.Changes {
		if c.Protected != "" || c.Repository || c.Kind != tongs.Added && c.Kind != tongs.Modified || c.Below > 0 || c.Path.Root != tongs.WorkspaceRoot {
			return l, false
		}
		l.paths = append(l.paths, c.Path.Rel)
	}
	return l, q.ChangeCount <= len(q.Changes)
}

// like reports whether two are the same kind of thing.
func (l lesson) like(o lesson) bool {
	if l.argv == nil || o.argv == nil {
		return l.argv == nil && o.argv == nil
	}
	return slices.Equal(l.argv[:min(2, len(l.argv))], o.argv[:min(2, len(o.argv))])
}

// approvedAsShown reports whether a person approved all of what was asked, and nothing else.
func approvedAsShown(q *approval.Question) bool {
	a := q.Answer
	return a != nil && a.Approved && !a.ByCaller && len(a.Args) == 0 && a.Keep == nil
}

// refusedIn are the effects that somebody refused: all of those of a question that was not approved as it was shown.
func refusedIn(q *approval.Question) []tongs.Effect {
	a := q.Answer
	if a == nil || a.Approved && len(a.Args) == 0 && a.Keep == nil {
		return nil
	}
	effects := slices.Clone(q.Effects)
	for _, c := range q.Changes {
		effects = append(effects, tongs.Effect{Kind: tongs.EffectWrite, Path: c.Path})
	}
	return effects
}

// covers reports whether a rule of this pattern, which for files is about reading and writing, covers one of the effects.
func covers(kind tongs.EffectKind, pattern string, effects []tongs.Effect) bool {
	return slices.ContainsFunc(effects, func(e tongs.Effect) bool {
		return (e.Kind == kind || kind == tongs.EffectWrite && e.Kind == tongs.EffectRead) && policy.Match(e.Kind, pattern, e)
	})
}

// validCover reports whether the pattern is one that a grant could have, which rules out those that cover nearly everything.
func validCover(kind tongs.EffectKind, pattern string) bool {
	return policy.Cover{Kind: kind, Pattern: pattern}.Validate() == nil
}

// verbs are the commands whose first two words say what they do, whatever follows: no option of theirs names a program to run,
// a file to obey or a place to send to. Only for these a rule about the beginning of a command is offered.
var verbs = map[string][]string{
	"git":    {"add", "branch", "commit", "mv", "restore", "rm", "stash", "status", "switch", "tag"},
	"go":     {"doc", "fmt", "mod", "version"},
	"docker": {"images", "logs", "ps"},
	"podman": {"images", "logs", "ps"},
}

// whole are programs whose words say all that they are told: they take no further commands from their input. For these a rule
// about the very same command is offered. Shells, interpreters and what starts other programs (env, xargs, npx, uv run, docker
// run, find -exec) are not among them, and neither is what nobody listed.
var whole = []string{
	"bazel", "black", "bundle", "cargo", "cmake", "composer", "ctest", "dotnet", "eslint", "gh", "git", "go", "gofmt", "gofumpt",
	"golangci-lint", "gradle", "helm", "jest", "make", "meson", "mvn", "mypy", "ninja", "nox", "npm", "pip", "pip3", "pnpm", "prettier",
	"pyright", "pytest", "rake", "rspec", "ruff", "rustc", "rustfmt", "staticcheck", "swift", "terraform", "tox", "tsc", "vitest", "yarn",
}

// generalise is the narrowest pattern that covers all of them; empty where it would have to be too wide.
func generalise(same []lesson) (tongs.EffectKind, string) {
	if same[0].argv == nil {
		var all []string
		for _, l := range same {
			all = append(all, l.paths...)
		}
		return tongs.EffectWrite, commonPath(all)
	}
	words, exact := same[0].argv, true
	for _, l := range same[1:] {
		n := 0
		for n < min(len(words), len(l.argv)) && words[n] == l.argv[n] {
			n++
		}
		exact = exact && n == len(words) && n == len(l.argv)
		words = words[:n]
	}
	if exact {
		if !slices.Contains(whole, words[0]) {
			return tongs.EffectExecute, ""
		}
		return tongs.EffectExecute, policy.ExactCommand(words)
	}
	if len(words) < 2 || !slices.Contains(verbs[words[0]], words[1]) || slices.ContainsFunc(words, func(w string) bool { return !plain(w) }) {
		return tongs.EffectExecute, ""
	}
	return tongs.EffectExecute, strings.Join(words, " ")
}

// plain reports whether a word, or a path, stands for itself in a pattern.
func plain(word string) bool { return word != "" && !strings.ContainsAny(word, "*?[]{}\\'\"= \t\n(") }

// commonPath is the file, where all are the same, or else everything below the directory that they have in common.
func commonPath(paths []string) string {
	dir := path.Dir(paths[0])
	same := true
	for _, p := range paths[1:] {
		same = same && p == paths[0]
		for dir != "." && p != dir && !strings.HasPrefix(p, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	switch {
	case same && plain(paths[0]):
		return paths[0]
	case dir == "." || !plain(dir):
		return ""
	}
	return dir + "/**"
}
