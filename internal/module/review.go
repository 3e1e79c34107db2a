package module

import (
	"context"
	"errors"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// seen is what a person was shown: a module of this set as it was.
type seen struct {
	set *Set
	m   *mod
	s   *snapshot
}

// Look implements engine.Reviewable: it reads a module for a person to approve. Nothing of it runs.
func (s *Set) Look(_ context.Context, name string) (*tongs.Review, error) {
	m, err := s.find(name)
	if err != nil {
		return nil, err
	}
	now, err := m.look(true)
	if err != nil {
		return nil, err
	}
	text, err := m.show(now)
	if err != nil {
		return nil, err
	}
	return tongs.NewReview(m.state(), text, now.record.Digest != "", now.record.Digest != now.digest, &seen{s, m, now}), nil
}

// Approve implements engine.Reviewable: it has the module run as it was looked at.
func (s *Set) Approve(_ context.Context, review *tongs.Review, by string) error {
	v, ok := review.Seen().(*seen)
	if !ok || v.set != s {
		return tongs.Errorf(tongs.CodeInvalidArgs, "this is no review of a module that is here")
	}
	now, err := v.m.look(true)
	if err != nil {
		return err
	}
	if now.digest != v.s.digest {
		return tongs.Errorf(tongs.CodeStaleFile, "the module %s changed while it was looked at; look again", v.m.name)
	}
	program, err := s.materialise(v.s.bundled, v.m.lang, v.m.name)
	if err != nil {
		return err
	}
	_, err = s.store.update(v.m.key, func(r *record) {
		*r = record{
			Module: v.m.cfg.target(), Digest: v.s.digest, Inputs: v.s.inputs, Program: program, Host: hostVersion(),
			ApprovedBy: by, ApprovedAt: time.Now(), Checked: v.m.cfg.Tools, Problems: v.s.problems,
		}
	})
	if err != nil {
		return err
	}
	s.sweep(time.Now())
	s.changed()
	return nil
}

// Learn runs an approved module aside, where it can change nothing and reach nothing, and keeps what it says of its tools.
// The text shows a person what that is; the error says why it does not load.
func (s *Set) Learn(ctx context.Context, name string) (text string, err error) {
	m, err := s.find(name)
	if err != nil {
		return "", err
	}
	now, err := m.look(true)
	if err != nil {
		return "", err
	}
	if !now.approved() {
		return "", tongs.Errorf(tongs.CodeApprovalRequired, "nobody approved the module %s as it is: %s", m.name, m.review())
	}
	defs, err := m.ask(ctx, now)
	if err != nil {
		return "", err
	}
	if r := reportOf(defs); r.Failed != "" {
		_, why := find(defs, m.name, "")
		return "", tongs.Errorf(tongs.CodeExecutionError, "%s", why)
	}
	if defs, err = m.remember(now, defs); err != nil {
		return "", err
	}
	var errs []error
	for _, tool := range m.cfg.Tools {
		if _, why := find(defs, m.name, tool); why != "" {
			errs = append(errs, configError("%s", why))
		}
	}
	shown := *defs
	shown.Instructions = ""
	return shown.Render(), errors.Join(errs...)
}

// ask starts the module aside.
func (m *mod) ask(ctx context.Context, s *snapshot) (*mcpclient.Definitions, error) {
	l, err := m.inspect(s)
	if err != nil {
		return nil, err
	}
	h, err := m.set.hosts.take(m, s, l)
	if err != nil {
		return nil, err
	}
	defer m.set.hosts.release(h)
	return m.open(ctx, h, s, l)
}

// Forget takes an approval back: the module is asked about again.
func (s *Set) Forget(name string) error {
	m, err := s.find(name)
	if err != nil {
		return err
	}
	if err := s.store.remove(m.key); err != nil {
		return err
	}
	s.changed()
	return nil
}
