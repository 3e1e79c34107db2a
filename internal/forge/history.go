package forge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// maxVersions is how many versions of a tool are kept.
const maxVersions = 10

// Version is what a tool was at a time: when it was built, approved, or replaced by another version. It is kept as a copy.
type Version struct {
	Digest  string    `json:"digest"`
	Version string    `json:"version,omitempty"`
	At      time.Time `json:"at"`
	// ApprovedBy is who approved exactly this, empty where nobody did.
	ApprovedBy string `json:"approvedBy,omitempty"`
	// Current is set for what the tool is now.
	Current bool `json:"current,omitempty"`
}

// ID is what people call the version by.
func (v Version) ID() string { return strings.TrimPrefix(v.Digest, "sha256:")[:12] }

// History returns the versions of a tool that are kept, the newest first.
func (s *Set) History(name string) ([]Version, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(e.record.Versions)
	slices.Reverse(list)
	for i := range list {
		list[i].Current = list[i].Digest == e.digest
	}
	return list, nil
}

// keep keeps a version of a tool. By is who approved it; empty leaves that as it is known.
func (s *Set) keep(e *entry, c *content, by string) error {
	d := digest(c.files)
	if !s.copyIntact(d) {
		if err := errors.Join(os.RemoveAll(s.store.copyOf(d)), c.save(s.store.copyOf(d))); err != nil {
			return err
		}
	}
	v := Version{Digest: d, At: time.Now(), ApprovedBy: by}
	if m, err := ParseManifest(c.data[ManifestName], ""); err == nil {
		v.Version = m.Version
	}
	var dropped []Version
	err := s.store.update(e.name, e.dir, func(r *record) {
		if i := slices.IndexFunc(r.Versions, func(o Version) bool { return o.Digest == d }); i >= 0 {
			if v.ApprovedBy == "" {
				v.ApprovedBy = r.Versions[i].ApprovedBy
			}
			r.Versions = slices.Delete(r.Versions, i, i+1)
		}
		r.Versions = append(r.Versions, v)
		if extra := len(r.Versions) - maxVersions; extra > 0 {
			dropped = slices.Clone(r.Versions[:extra])
			r.Versions = slices.Delete(r.Versions, 0, extra)
		}
	})
	return errors.Join(err, s.changed(), s.drop(dropped))
}

// drop removes the copies of versions that no tool has any more.
func (s *Set) drop(versions []Version) (err error) {
	for _, v := range versions {
		if !slices.ContainsFunc(s.current.Load().entries, func(e *entry) bool {
			return e.record.Digest == v.Digest || slices.ContainsFunc(e.record.Versions, func(o Version) bool { return o.Digest == v.Digest })
		}) {
			err = errors.Join(err, os.RemoveAll(s.store.copyOf(v.Digest)))
		}
	}
	return err
}

// Rollback makes a tool what it was in a version, named by the beginning of its ID or by its version number; empty means the one before. What
// it was until now is kept. A version that a person approved is approved again; any other one is asked about.
func (s *Set) Rollback(name, to string) (*Version, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	list, err := s.History(name)
	if err != nil {
		return nil, err
	}
	v, err := choose(name, list, to)
	if err != nil {
		return nil, err
	}
	was, err := s.copied(v.Digest)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the version %s of %s cannot be used: %w", v.ID(), name, err)
	}
	now, err := load(e.dir)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s: %w", name, err)
	}
	if err := s.keep(e, now, ""); err != nil {
		return nil, err
	}
	if err := was.restore(e.dir, now); err != nil {
		return nil, err
	}
	if err := s.changed(); err != nil || v.ApprovedBy == "" {
		return v, err
	}
	return v, errors.Join(s.store.update(e.name, e.dir, func(r *record) {
		r.Digest, r.Files, r.ApprovedBy, r.ApprovedAt = v.Digest, nil, v.ApprovedBy, v.At
	}), s.changed())
}

// choose returns the version that is meant among those of a tool, the newest first.
func choose(name string, list []Version, to string) (*Version, error) {
	var ids []string
	for i := range list {
		v := &list[i]
		if !v.Current && (to == "" || v.Version == to || len(to) >= 4 && strings.HasPrefix(strings.TrimPrefix(v.Digest, "sha256:"), to)) {
			return v, nil
		}
		ids = append(ids, v.ID())
	}
	if to == "" {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "no other version of %s is kept; one is kept when it is built or approved", name)
	}
	return nil, tongs.Errorf(tongs.CodeInvalidArgs, "no other version %q of %s is kept; there are %s", to, name, strings.Join(ids, ", "))
}

// restore gives a directory these files instead of those that it has. What is no part of a tool stays. Links in it lead nowhere.
func (c *content) restore(dir string, now *content) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range now.files {
		if c.data[f.Path] == nil {
			if err := root.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for _, f := range c.files {
		mode := fs.FileMode(0o644)
		if f.Exec {
			mode = 0o755
		}
		tmp := path.Join(path.Dir(f.Path), ".new-"+path.Base(f.Path))
		if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		out, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return fmt.Errorf("%s cannot be written: %w", f.Path, err)
		}
		_, err = out.Write(c.data[f.Path])
		if err := errors.Join(err, out.Chmod(mode), out.Close(), root.Rename(tmp, f.Path)); err != nil {
			return err
		}
	}
	return nil
}
