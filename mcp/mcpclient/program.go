package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Program is what a server runs, as a person approves it: the files by their content. What a script imports is not among
// them, unless it is in an installed package.
type Program struct {
	Parts []Part `json:"parts"`
}

// Part is one file, or an installed package, of a program.
type Part struct {
	// Role is program, script, manifest or package.
	Role string `json:"role"`
	Path string `json:"path"`
	// Hash identifies the content.
	Hash string `json:"hash"`
	// Stamp is the stat identity that the content was read in; empty where a later change could have the same.
	Stamp string `json:"stamp,omitempty"`
	// Note tells people what it is.
	Note string `json:"note,omitempty"`
	// named is the path that is run, which links may lead from to Path.
	named string
}

// Digest identifies the program by its content.
func (p *Program) Digest() string {
	if p == nil {
		return ""
	}
	h := sha256.New()
	for _, part := range p.Parts {
		fmt.Fprintf(h, "%q %q %s\n", part.Role, part.Path, part.Hash)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// render writes the program out for a person.
func (p *Program) render() string {
	if p == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range p.Parts {
		fmt.Fprintf(&b, "%s %s", part.Role, cleantext.Text(part.Path, 500))
		if part.Note != "" {
			fmt.Fprintf(&b, " (%s)", cleantext.Text(part.Note, 200))
		}
		fmt.Fprintf(&b, "\n  %s\n", part.Hash)
	}
	return b.String()
}

// differs names the parts in which two programs differ.
func (p *Program) differs(o *Program) string {
	var list []string
	for _, part := range p.parts() {
		if !slices.ContainsFunc(o.parts(), func(q Part) bool { return q.Role == part.Role && q.Path == part.Path && q.Hash == part.Hash }) {
			list = append(list, part.Role+" "+part.Path)
		}
	}
	for _, part := range o.parts() {
		if !slices.ContainsFunc(p.parts(), func(q Part) bool { return q.Role == part.Role && q.Path == part.Path }) {
			list = append(list, part.Role+" "+part.Path+" (gone)")
		}
	}
	return strings.Join(list, ", ")
}

func (p *Program) parts() []Part {
	if p == nil {
		return nil
	}
	return p.Parts
}

// maxPart is how large a file of a program may be.
const maxPart = 1 << 30

// settled is how old a change must be for its time to tell it from a later one.
const settled = 2 * time.Second

// read fills in the content of a part. Known are readings from before: a file in the same state is not read again.
func (p *Part) read(known []Part) error {
	if p.Role == rolePackage {
		return p.readTree(known)
	}
	info, err := os.Stat(p.Path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", p.Path)
	}
	if p.known(stampOf(info), known) {
		return nil
	}
	f, err := os.Open(p.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	now := time.Now()
	if info, err = f.Stat(); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxPart+1))
	if err != nil {
		return err
	}
	after, err := f.Stat()
	switch {
	case err != nil:
		return err
	case n > maxPart:
		return fmt.Errorf("%s has more than %d bytes", p.Path, maxPart)
	}
	p.Hash, p.Stamp = "sha256:"+hex.EncodeToString(sum.Sum(nil)), ""
	if stampOf(info) == stampOf(after) && now.Sub(changedAt(after)) > settled {
		p.Stamp = stampOf(after)
	}
	return nil
}

// known takes the hash of an earlier reading of the same state.
func (p *Part) known(stamp string, known []Part) bool {
	i := slices.IndexFunc(known, func(k Part) bool { return k.Role == p.Role && k.Path == p.Path && k.Stamp != "" && k.Stamp == stamp })
	if i < 0 {
		return false
	}
	p.Hash, p.Stamp = known[i].Hash, known[i].Stamp
	return true
}

// state is the stat identity of every part now. What is not there is part of it.
func (p *Program) state() string {
	var b strings.Builder
	for _, part := range p.parts() {
		if part.Role == rolePackage {
			stamp, _, err := treeStamp(part.Path)
			fmt.Fprintf(&b, "%s %v\n", stamp, err)
			continue
		}
		info, err := os.Stat(part.Path)
		if err != nil {
			b.WriteString("absent\n")
			continue
		}
		b.WriteString(stampOf(info) + "\n" + linkState(part.named))
	}
	return b.String()
}

// linkState is where a path leads, and the stat identity of each link in it.
func linkState(path string) string {
	if path == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	state := fmt.Sprintf("%q %v", real, err)
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			state += " " + stampOf(info)
		}
	}
	return state + "\n"
}

// manifests are files beside a script that say what it is made of.
var manifests = []string{
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.json", "deno.jsonc",
	"deno.lock", "pyproject.toml", "uv.lock", "poetry.lock", "Pipfile.lock", "requirements.txt", "Gemfile", "Gemfile.lock", "composer.lock",
	"go.mod", "go.sum",
}

// manifestsOf are the manifests of a script: those of its directory, or of the next one above that has some.
func manifestsOf(script string) (list []Part) {
	dir := filepath.Dir(script)
	for range 4 {
		for _, name := range manifests {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				list = append(list, Part{Role: roleManifest, Path: path})
			}
		}
		if len(list) > 0 || filepath.Dir(dir) == dir {
			return list
		}
		dir = filepath.Dir(dir)
	}
	return nil
}

// The roles of parts.
const (
	roleProgram  = "program"
	roleScript   = "script"
	roleManifest = "manifest"
	rolePackage  = "package"
)

// find returns the file that a command is, as the program that runs it would find it.
func find(command, dir, path string) (string, error) {
	if strings.ContainsRune(command, filepath.Separator) || strings.Contains(command, "/") {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		return command, nil
	}
	for _, at := range filepath.SplitList(path) {
		name := filepath.Join(at, command)
		for _, ending := range endings {
			if info, err := os.Stat(name + ending); err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || ending != "") {
				return name + ending, nil
			}
		}
	}
	return "", fmt.Errorf("there is no program %q: %w", command, fs.ErrNotExist)
}

// real is a file by a path without links.
func realFile(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s does not exist: %w", path, fs.ErrNotExist)
	}
	return real, err
}
