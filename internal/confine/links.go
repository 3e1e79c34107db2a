package confine

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/internal/hostpath"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// links marks links that lead out of their root, and changes of what links with protected names lead to that were made with
// them.
func (c *commands) links(made []changeset.Change, changes []tongs.Change) {
	links, out := map[string]string{}, map[tongs.Path]string{}
	for i := range made {
		if made[i].After.Type == journal.Link {
			links[c.opt.Workspace.Host(made[i].Path)] = made[i].After.Target
			out[made[i].Path] = c.leadsOut(made, made[i].Path, made[i].After.Target)
		}
	}
	if len(links) == 0 {
		return
	}
	protected := c.opt.Workspace.LinkedBy(links)
	for i := range changes {
		change := &changes[i]
		if change.Protected = out[change.Path]; change.Protected == "" && change.Type != tongs.FileDirectory {
			change.Protected = protected(change.Path)
		}
	}
}

// leadsOut says where a link leads that leaves its root, or may, "" for any other. A link to a file of the system gives nothing
// away that programs cannot see, and nothing can be changed through it; nor does that of a Python environment to its Python.
func (c *Confiner) leadsOut(made []changeset.Change, link tongs.Path, to string) string {
	if !hostpath.LeadsOut(link.Rel, to) || !c.inRoot(to) && (sandbox.Public(to) || c.isPython(made, link, to)) {
		return ""
	}
	return fmt.Sprintf("protected: it is a link that leads out of its root, to %q", to)
}

// inRoot reports whether a path of this machine is in one of the roots, by its text or where it leads, or leads nowhere.
func (c *Confiner) inRoot(host string) bool {
	real, err := filepath.EvalSymlinks(host)
	if err != nil {
		return true
	}
	_, spelled := c.opt.Workspace.Place(host)
	_, leads := c.opt.Workspace.Place(real)
	return spelled || leads
}

// pythonName is what a Python is called.
var pythonName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^python(3(\.\d+)?)?$`) })

// isPython reports whether a link is that of a Python environment to the Python it was made with, which programs see wherever it
// is. A user's own could be written to through the link, by something that writes to bin/python.
func (c *Confiner) isPython(made []changeset.Change, link tongs.Path, to string) bool {
	python := func(name string) bool { return pythonName().MatchString(path.Base(name)) }
	if !python(link.Rel) || path.Base(link.Dir().Rel) != "bin" || !python(to) || filepath.Clean(to) != to {
		return false
	}
	config := link.Dir().Dir().Join("pyvenv.cfg")
	_, err := os.Lstat(c.opt.Workspace.Host(config))
	if err != nil && !slices.ContainsFunc(made, func(m changeset.Change) bool { return m.Path == config && m.After.Type == journal.File }) {
		return false
	}
	real, err := filepath.EvalSymlinks(to)
	if err != nil || !python(real) {
		return false
	}
	info, err := os.Lstat(real)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o100 != 0 &&
		slices.ContainsFunc(sandbox.Shown(sandbox.PresetOptions{}), func(dir string) bool { return hostpath.Within(dir, to) })
}
