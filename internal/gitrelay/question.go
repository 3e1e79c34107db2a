package gitrelay

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// decidePush reads a push and has it decided. What it returns without an error is sent as it is; with one, it is what was refused.
func (s *Session) decidePush(ctx context.Context, remote Remote, dir string, r io.Reader) (*push, error) {
	p, err := parsePush(r, remote)
	if err != nil || len(p.commands) == 0 {
		return p, err
	}
	p.dir = dir
	if err := s.receive(p, r); err != nil {
		return p, err
	}
	if s.call.Permit.Call().DryRun {
		return p, tongs.Errorf(tongs.CodeDenied, "a dry run pushes nothing")
	}
	if err := s.current(p); err != nil {
		return p, err
	}
	o, err := p.inspect(ctx)
	if err != nil {
		return p, err
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	lost := p.loses(o) != ""
	p.undecided = s.call.Undecided != nil && s.call.Undecided(p.tips())
	effect := tongs.Effect{
		Kind: tongs.EffectNetwork, Host: remote.Target.Name(), Sends: true, MustAsk: lost, Version: p.digest(), Why: p.words(o) + p.early(),
		Push: &tongs.Push{Refs: p.refs(), Plain: !lost && len(p.options) == 0 && s.configured(ctx, remote)},
	}
	return p, s.decide(ctx, tongs.More{
		Reason:  "nothing was sent yet",
		Message: "git would " + effect.Why,
		Effects: []tongs.Effect{effect},
		Preview: func(context.Context) (string, error) { return p.preview(o), nil },
	})
}

// tips are the objects that references of the remote get.
func (p *push) tips() (ids []string) {
	for _, c := range p.commands {
		if !zero(c.new) {
			ids = append(ids, c.new)
		}
	}
	return ids
}

// early says that the workspace may never get what is pushed.
func (p *push) early() string {
	if !p.undecided {
		return ""
	}
	return "; the command made commits that are not in your workspace yet, and they stay on the remote if you decline its changes"
}

// current refuses a push that is not about what the remote said it has: the question would compare with something else.
func (s *Session) current(p *push) error {
	s.mu.Lock()
	a := s.adverts[p.remote.same()]
	s.mu.Unlock()
	for _, c := range p.commands {
		if a == nil || a.refs[c.ref] != c.old && !(zero(c.old) && a.refs[c.ref] == "") {
			return tongs.Errorf(tongs.CodeStaleFile, "%s at %s is not what git takes it for; fetch, and push again", plain(c.ref), p.remote)
		}
	}
	return nil
}

// refs are the references that it changes.
func (p *push) refs() (list []string) {
	for _, c := range p.commands {
		list = append(list, c.ref)
	}
	return list
}

// digest is what exactly is pushed.
func (p *push) digest() tongs.Version {
	parts := []string{"push", p.remote.String()}
	for _, c := range p.commands {
		parts = append(parts, c.old, c.new, c.ref)
	}
	return digest(append(append(parts, "options"), p.options...)...)
}

// shownRefs is how many references a sentence names.
const shownRefs = 3

// words tell in one line what is pushed where.
func (p *push) words(o *objects) string {
	var list []string
	for i, c := range p.commands {
		if i == shownRefs {
			list = append(list, fmt.Sprintf("%d more", len(p.commands)-shownRefs))
			break
		}
		list = append(list, p.change(o, c))
	}
	at := " to "
	if slices.ContainsFunc(p.commands, func(c command) bool { return zero(c.new) }) {
		at = " at "
	}
	return strings.Join(list, ", ") + at + p.remote.String() + p.told() + p.loses(o)
}

// told is what the server is told beside the references: it may act on that.
func (p *push) told() string {
	if len(p.options) == 0 {
		return ""
	}
	return " with push options (" + cleantext.Cut(plain(strings.Join(p.options, ", ")), 200) + ")"
}

// change tells what becomes of one reference.
func (p *push) change(o *objects, c command) string {
	name := refName(c.ref)
	switch {
	case zero(c.new):
		return "delete " + name + " (" + short(c.old) + ")"
	case zero(c.old):
		return "push new " + name + " (" + commits(o, c) + short(c.new) + ")"
	case !o.adds(c):
		return "push " + name + " (" + commits(o, c) + short(c.old) + " replaced by " + short(c.new) + ")"
	}
	return "push " + name + " (" + commits(o, c) + short(c.old) + ".." + short(c.new) + ")"
}

// commits counts those of a reference that the remote does not have.
func commits(o *objects, c command) string {
	switch n := len(o.history(c.new).commits); n {
	case 0:
		return "no new commits, "
	case 1:
		return "1 commit, "
	default:
		return fmt.Sprintf("%d commits, ", n)
	}
}

// loses tells what of the remote might be lost; empty where nothing is.
func (p *push) loses(o *objects) string {
	deleted, replaced := false, false
	for _, c := range p.commands {
		deleted = deleted || zero(c.new)
		replaced = replaced || !zero(c.new) && !o.adds(c)
	}
	switch {
	case deleted && replaced:
		return "; this deletes references of the remote, and may replace commits there"
	case deleted:
		return "; this deletes references of the remote"
	case replaced:
		return "; this may replace commits of the remote (a force push)"
	}
	return ""
}

// refName is a reference as people say it.
func refName(ref string) string {
	for prefix, kind := range map[string]string{"refs/heads/": "", "refs/tags/": "tag "} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return kind + plain(name)
		}
	}
	return plain(ref)
}

func short(id string) string { return id[:min(len(id), 10)] }

// summary is what the log tells of a push.
func (p *push) summary() string {
	var names []string
	for _, c := range p.commands {
		names = append(names, refName(c.ref))
	}
	return "pushed " + cleantext.Cut(strings.Join(names, ", "), 200) + " to " + p.remote.String()
}

// shownCommits is how many commits of a reference are listed.
const shownCommits = 50

// preview lists each reference with its commits.
func (p *push) preview(o *objects) string {
	var b strings.Builder
	fmt.Fprintf(&b, "to %s\n", p.remote)
	for _, c := range p.commands {
		fmt.Fprintf(&b, "\n%s\n", p.change(o, c))
		list := o.history(c.new).commits
		for i, id := range list {
			if i == shownCommits {
				fmt.Fprintf(&b, "  and %d more\n", len(list)-shownCommits)
				break
			}
			fmt.Fprintf(&b, "  %s %s\n", short(id), cleantext.Line(cleantext.Cut(o.subjects[id], 120)))
		}
	}
	for _, option := range p.options {
		fmt.Fprintf(&b, "\npush option: %s\n", plain(option))
	}
	for _, why := range []string{p.loses(o), p.early()} {
		if why != "" {
			b.WriteString("\n" + strings.TrimPrefix(why, "; ") + "\n")
		}
	}
	return b.String()
}
