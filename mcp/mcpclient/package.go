package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// npx is what an npx command asks for.
type npx struct {
	// spec is the package as npm installs it, name without its version; bin is the command of it that runs.
	spec, name, bin string
	args            []string
}

// readNpx reads the arguments of npx. An option that it does not know is an error: it could change what runs.
func (s *Server) readNpx() (*npx, error) {
	n := &npx{}
	args := s.Args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		switch option {
		case "-y", "--yes", "-q", "--quiet", "--":
		case "-p", "--package":
			if !joined {
				if len(args) == 0 {
					return nil, s.unpinnable("npx " + option + " names no package")
				}
				value, args = args[0], args[1:]
			}
			if n.spec != "" {
				return nil, s.unpinnable("npx installs several packages")
			}
			n.spec = value
		default:
			return nil, s.unpinnable("npx " + option + " is not known here")
		}
	}
	if len(args) == 0 {
		return nil, s.unpinnable("npx names no package")
	}
	if n.spec == "" {
		n.spec = args[0]
	} else {
		n.bin = args[0]
	}
	n.args = args[1:]
	if at := strings.LastIndex(n.spec, "@"); at > 0 {
		n.name = n.spec[:at]
	} else {
		n.name = n.spec
	}
	if strings.HasPrefix(n.spec, "-") || !packageName.MatchString(n.name) {
		return nil, s.unpinnable(fmt.Sprintf("%q is not the name of a package of a registry", n.spec))
	}
	return n, nil
}

// placeDigits is how much of the identity of a server is in the name of its directory.
const placeDigits = 16

// place is the private directory that the package is installed in.
func (h *host) place() string {
	return filepath.Join(h.set.opt.Packages, h.cfg.Name+"-"+strings.TrimPrefix(h.identity, "sha256:")[:placeDigits])
}

// RemovePackages removes what is installed of a server, however it was configured.
func RemovePackages(packages, server string) error {
	if !serverName.MatchString(server) {
		return nil // it cannot have any
	}
	places, err := filepath.Glob(filepath.Join(packages, server+"-"+strings.Repeat("[0-9a-f]", placeDigits)))
	for _, place := range places {
		err = errors.Join(err, os.RemoveAll(place))
	}
	return err
}

// launcher is what runs an installed package: it is in the same directory, so that the sandbox shows that and nothing else.
const launcher = "run"

// packaged returns how an installed package is run, and what it is made of.
func (h *host) packaged(dir, path string) (argv []string, parts []Part, err error) {
	n, err := h.cfg.readNpx()
	if err != nil {
		return nil, nil, err
	}
	if h.set.opt.Packages == "" {
		return nil, nil, h.cfg.unpinnable("there is no directory to install packages in")
	}
	place := h.place()
	if _, err := os.Lstat(filepath.Join(place, launcher)); err != nil {
		return nil, nil, tongs.Errorf(tongs.CodeConfigError, "%s is not installed yet: '%s' installs %s into a private directory, and asks you to approve it",
			h.cfg.called(), h.cfg.review(), n.spec)
	}
	node, err := find("node", dir, path)
	if err != nil {
		return nil, nil, err
	}
	if node, err = realFile(node); err != nil {
		return nil, nil, err
	}
	return append([]string{filepath.Join(place, launcher)}, n.args...), []Part{
		{Role: roleProgram, Path: node}, {Role: rolePackage, Path: place, Note: packageNote(place, n)},
	}, nil
}

func packageNote(place string, n *npx) string {
	m, err := readManifest(filepath.Join(place, "node_modules", filepath.FromSlash(n.name)))
	if err != nil {
		return n.spec
	}
	return m.Name + " " + m.Version
}

// manifest is a package.json, as far as it says how the package is run.
type manifest struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	Bin     json.RawMessage `json:"bin"`
}

func readManifest(dir string) (*manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	m := &manifest{}
	if err == nil {
		err = json.Unmarshal(data, m)
	}
	return m, err
}

// entry is the file of a package that a command of it runs.
func (m *manifest) entry(name, bin string) (string, error) {
	var one string
	if json.Unmarshal(m.Bin, &one) == nil && one != "" {
		return one, nil
	}
	var all map[string]string
	_ = json.Unmarshal(m.Bin, &all)
	if bin == "" {
		bin = name[strings.LastIndex(name, "/")+1:]
	}
	if file, ok := all[bin]; ok {
		return file, nil
	}
	if len(all) == 1 {
		for _, file := range all {
			return file, nil
		}
	}
	return "", fmt.Errorf("the package %s has no command %q", name, bin)
}

// install installs the package of an npx command into its private directory. No code of it runs: its install scripts do
// not.
func (h *host) install(ctx context.Context, dir string) error {
	n, err := h.cfg.readNpx()
	if err != nil {
		return err
	}
	if h.set.opt.Packages == "" {
		return h.cfg.unpinnable("there is no directory to install packages in")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return h.cfg.unpinnable("npm, which installs it, is missing")
	}
	if err := os.MkdirAll(h.set.opt.Packages, 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(h.set.opt.Packages, ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), []byte("{\"private\": true}\n"), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--", n.spec)
	cmd.Dir, cmd.Env = fresh, plainEnviron(os.Environ())
	if out, err := cmd.CombinedOutput(); err != nil {
		return tongs.Errorf(tongs.CodeExecutionError, "%s could not be installed: %v: %s", n.spec, err, cleantext.Text(string(out), 1000))
	}
	if err := h.writeLauncher(fresh, dir, n); err != nil {
		return err
	}
	place := h.place()
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	return os.Rename(fresh, place)
}

func (h *host) writeLauncher(fresh, dir string, n *npx) error {
	m, err := readManifest(filepath.Join(fresh, "node_modules", filepath.FromSlash(n.name)))
	if err != nil {
		return fmt.Errorf("the package %s cannot be read: %w", n.name, err)
	}
	file, err := m.entry(n.name, n.bin)
	if err != nil {
		return tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	file = filepath.Join("node_modules", filepath.FromSlash(n.name), filepath.FromSlash(file))
	if !filepath.IsLocal(file) || !strings.HasPrefix(file, "node_modules") || strings.ContainsAny(file, "'\n") {
		return tongs.Errorf(tongs.CodeConfigError, "the package %s runs a file outside of it", n.name)
	}
	path, err := h.path()
	if err != nil {
		return err
	}
	node, err := find("node", dir, path)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"${0%%/*}\"/'%s' \"$@\"\n", node, file)
	return os.WriteFile(filepath.Join(fresh, launcher), []byte(script), 0o700)
}

// maxTree is how many files a package may have.
const maxTree = 100_000

// treeStamp is the stat identity of everything in a directory, and when the last of it changed.
func treeStamp(dir string) (stamp string, newest time.Time, err error) {
	sum := sha256.New()
	sure := true
	err = eachFile(dir, func(rel string, info fs.FileInfo) error {
		s := stampOf(info)
		sure = sure && s != ""
		if t := changedAt(info); t.After(newest) {
			newest = t
		}
		fmt.Fprintf(sum, "%q %s\n", rel, s)
		return nil
	})
	if err != nil || !sure {
		return "", newest, err
	}
	return hex.EncodeToString(sum.Sum(nil)), newest, nil
}

// eachFile calls f with everything in a directory, in order.
func eachFile(dir string, f func(rel string, info fs.FileInfo) error) error {
	count := 0
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if count++; count > maxTree {
			return fmt.Errorf("%s has more than %d files", dir, maxTree)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return f(rel, info)
	})
}

// readTree is read for a directory.
func (p *Part) readTree(known []Part) error {
	stamp, _, err := treeStamp(p.Path)
	if err != nil {
		return err
	}
	if p.known(stamp, known) {
		return nil
	}
	now := time.Now()
	sum := sha256.New()
	err = eachFile(p.Path, func(rel string, info fs.FileInfo) error {
		path := filepath.Join(p.Path, rel)
		switch {
		case info.IsDir():
			fmt.Fprintf(sum, "%q directory\n", rel)
			return nil
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err == nil && (filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(rel), target))) {
				return fmt.Errorf("%s leads outside of the package, to %s", path, target)
			}
			fmt.Fprintf(sum, "%q link %q\n", rel, target)
			return err
		}
		file := Part{Role: roleScript, Path: path}
		err := file.read(nil)
		fmt.Fprintf(sum, "%q %t %s\n", rel, info.Mode()&0o111 != 0, file.Hash)
		return err
	})
	after, newest, again := treeStamp(p.Path)
	if err := errors.Join(err, again); err != nil {
		return err
	}
	p.Hash, p.Stamp = "sha256:"+hex.EncodeToString(sum.Sum(nil)), ""
	if after == stamp && now.Sub(newest) > settled {
		p.Stamp = stamp
	}
	return nil
}

// program is what the server would run in a directory, and how. A server that is not pinned has none.
func (h *host) program(dir string) (argv []string, p *Program, err error) {
	cfg := &h.cfg
	if cfg.Unpinned {
		return cfg.argv(), nil, nil
	}
	path, err := h.path()
	if err != nil {
		return nil, nil, err
	}
	var parts []Part
	if kindOf(cfg.Command) == "npx" {
		argv, parts, err = h.packaged(dir, path)
	} else {
		argv, parts, err = h.named(dir, path)
	}
	if err != nil {
		return nil, nil, err
	}
	p = &Program{Parts: parts}
	h.mu.Lock()
	known := slices.Clone(h.known)
	h.mu.Unlock()
	if r, err := h.record(); err == nil {
		known = append(known, slices.Concat(r.Program.parts(), r.SeenProgram.parts())...)
	}
	for i := range p.Parts {
		if err := p.Parts[i].read(known); err != nil {
			return nil, nil, tongs.Errorf(tongs.CodeExecutionError, "%s: its %s cannot be read: %w", cfg.called(), p.Parts[i].Role, err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = slices.Clone(p.Parts)
	return argv, p, nil
}

// named returns how a program that the configuration names is run, and what it is made of.
func (h *host) named(dir, path string) (argv []string, parts []Part, err error) {
	cfg := &h.cfg
	scripts, err := cfg.scripts(dir)
	if err != nil {
		return nil, nil, err
	}
	at, err := find(cfg.Command, dir, path)
	if err != nil {
		return nil, nil, tongs.Errorf(tongs.CodeExecutionError, "%s: %w", cfg.called(), err)
	}
	for i, name := range append([]string{at}, scripts...) {
		real, err := realFile(name)
		if err != nil {
			return nil, nil, tongs.Errorf(tongs.CodeExecutionError, "%s: %w", cfg.called(), err)
		}
		role := roleScript
		if i == 0 {
			role = roleProgram
		}
		parts = append(parts, Part{Role: role, Path: real, named: name})
	}
	if last := parts[len(parts)-1]; last.Role == roleScript || filepath.Ext(last.Path) != "" && filepath.Ext(last.Path) != ".exe" {
		parts = append(parts, manifestsOf(last.Path)...)
	}
	return append([]string{at}, cfg.Args...), parts, nil
}
