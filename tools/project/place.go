package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// maxConfig is how much of a file of the project's configuration is read.
const maxConfig = 1 << 20

// place is a project, seen by a call: where it is, and what of it the call is about.
type place struct {
	files tongs.FileView
	// root is the directory of the project. Target is what the call is about: root, or a file or directory below it.
	root, target tongs.Path
	isFile       bool
	// top is the topmost directory that was looked at.
	top tongs.Path
	// bound are the files that say what runs, by the name below root: an approval is bound to their content.
	bound []string
	// need is met when something is looked at that nobody decided.
	need *tongs.Need
}

// find returns the project that a spelling is in: the nearest directory, from there upwards, that is one.
func find(files tongs.FileView, spelling string, isProject func(*place) bool) (*place, error) {
	if spelling == "" {
		spelling = "."
	}
	target, err := files.Resolve(spelling)
	if err != nil {
		return nil, err
	}
	info, err := files.Stat(target)
	if err != nil {
		return nil, err
	}
	p := &place{files: files, root: target, target: target, isFile: info.Type != tongs.FileDirectory}
	if p.isFile {
		p.root = target.Dir()
	}
	for first := p.root; ; p.root = p.root.Dir() {
		p.top = p.root
		if isProject(p) {
			return p, p.undecided()
		}
		if err := p.undecided(); err != nil {
			return nil, err
		}
		if p.root.Rel == "." {
			p.root = first
			return p, nil
		}
	}
}

// undecided is a *tongs.Need where the call looked at something that nobody decided.
func (p *place) undecided() error {
	if p.need == nil {
		return nil
	}
	return p.need
}

// reads is the effect of looking at the project.
func (p *place) reads() tongs.Effect { return tongs.Effect{Kind: tongs.EffectRead, Path: p.top} }

// host is where something of the project is on this machine.
func (p *place) host(name string) string { return path.Join(p.files.Host(p.root), name) }

// entry describes what has a name below the root, without following a link of that name.
func (p *place) entry(name string) (info tongs.FileInfo, ok bool) {
	at, err := p.files.ResolveEntry(p.host(name))
	if err == nil {
		info, err = p.files.Stat(at)
	}
	return info, p.noted(err)
}

func (p *place) noted(err error) bool {
	if need, ok := errors.AsType[*tongs.Need](err); ok && p.need == nil {
		p.need = need
	}
	return err == nil
}

// has reports whether something with one of the names is in the root.
func (p *place) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := p.entry(name)
		return ok
	})
}

// read returns the text of a file below the root, links followed; empty where there is none that can be read.
func (p *place) read(name string) string {
	at, err := p.files.Resolve(p.host(name))
	if err != nil {
		return ""
	}
	f, err := p.files.Open(at)
	if !p.noted(err) {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil || len(data) > maxConfig {
		return ""
	}
	return string(data)
}

// names returns the entries of the root that match.
func (p *place) names(match *regexp.Regexp) (found []string) {
	for info, err := range p.files.ReadDir(p.root) {
		if !p.noted(err) {
			return nil
		}
		if name := path.Base(info.Path.Rel); match.MatchString(name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// below is the target as a program in the root spells it. It never looks like an option.
func (p *place) below() string { return below(p.root, p.target) }

func below(root, target tongs.Path) string {
	if target == root {
		return "."
	}
	rel := target.Rel
	if root.Rel != "." {
		rel = strings.TrimPrefix(rel, root.Rel+"/")
	}
	return "./" + rel
}

// bind ties what runs to the content of files.
func (p *place) bind(names ...string) { p.bound = append(p.bound, names...) }

// execute is the effect of running a program, bound to the files that say what it does.
func (p *place) execute(prog program) tongs.Effect {
	e := tongs.Effect{Kind: tongs.EffectExecute, Argv: prog.words()}
	if len(p.bound) == 0 {
		return e
	}
	h := sha256.New()
	for _, name := range p.bound {
		text := p.read(name)
		if fmt.Fprintf(h, "%q %q\n", name, text); text == "" { // none, a link out of the workspace, or a large program
			info, _ := p.entry(name)
			fmt.Fprintf(h, "%q %d %q %s\n", info.Type, info.Size, info.Target, info.Modified)
		}
	}
	e.Version = tongs.Version("sha256:" + hex.EncodeToString(h.Sum(nil)))
	e.Why = "runs what the workspace says; an approval is bound to the content of " + strings.Join(p.bound, ", ")
	return e
}

// manifest is what a package.json says, as far as it matters here.
type manifest struct {
	PackageManager  string            `json:"packageManager"`
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]string `json:"dependencies"`
	DevDependencies map[string]string `json:"devDependencies"`
	Prettier        json.RawMessage   `json:"prettier"`
}

// manifest reads package.json; ok is false where there is none, or none that can be read.
func (p *place) manifest() (m manifest, ok bool) {
	text := p.read("package.json")
	return m, text != "" && json.Unmarshal([]byte(text), &m) == nil
}

func (m manifest) depends(name string) bool {
	_, a := m.Dependencies[name]
	_, b := m.DevDependencies[name]
	return a || b
}

// javascript is the package manager of a project of JavaScript, by what it names or by its lock file.
func (p *place) javascript(m manifest) string {
	name, _, _ := strings.Cut(m.PackageManager, "@")
	switch {
	case slices.Contains([]string{"npm", "pnpm", "yarn"}, name):
		return name
	case p.has("pnpm-lock.yaml"):
		return "pnpm"
	case p.has("yarn.lock"):
		return "yarn"
	}
	return "npm"
}

// python is the interpreter of a project: that of its own environment, or the system's.
func (p *place) python() string { return p.own("python3", ".venv/bin/python", "venv/bin/python") }

// own is the first of some programs of the project that is there, or another one. What is run of the project is bound to what it is.
func (p *place) own(other string, names ...string) string {
	for _, name := range names {
		if p.has(name) {
			if !slices.Contains(p.bound, name) {
				p.bind(name)
			}
			return p.host(name)
		}
	}
	return other
}
