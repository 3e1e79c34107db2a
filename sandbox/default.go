package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// PresetOptions are those of Default. The zero value is meaningful.
type PresetOptions struct {
	// Cache is what package managers and compilers keep what they fetched and built in. It is made if it is not there. The
	// zero value keeps nothing.
	Cache Cache
	// Presets are the toolchains to prepare for: go, node, python, rust, java, git. Nil is all of them; those that are
	// not installed cost nothing.
	Presets []string
	// Protect and Hide become ProtectedNames and HiddenNames.
	Protect, Hide []string
	// PassEnv are names of variables to pass on, besides the usual ones.
	PassEnv []string
	// Environ and Home are those of the user; nil and empty are this process's own.
	Environ []string
	Home    string
}

// Home is the home directory that programs have: an empty one of their own.
const Home = "/tmp/home"

// system are the directories that hold programs and libraries, on any distribution.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"}

// etc are the names below /etc that programs need and that tell no secret.
var etc = []string{
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-*.path", "alternatives", "ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem", "pki/tls/certs", "pki/ca-trust/extracted",
	"ca-certificates", "ca-certificates.conf", "localtime", "timezone", "mime.types", "magic", "protocols", "services", "os-release", "debian_version",
	"lsb-release", "inputrc", "terminfo", "fonts", "python3*", "perl", "java*", "bash.bashrc", "profile.d", "npmrc", "maven", "gradle", "crypto-policies",
}

// passed are the variables that are passed on as they are.
var passed = []string{
	"LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI", "COLUMNS", "LINES", "GOFLAGS", "GOEXPERIMENT", "CGO_ENABLED",
	"NODE_ENV", "PYTHONUTF8", "MAKEFLAGS", "SOURCE_DATE_EPOCH", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
}

// builder makes a policy.
type builder struct {
	pol  Policy
	opt  PresetOptions
	env  map[string]string
	home string
	// path are the directories of PATH inside; those of interpreters come first.
	path []string
}

// Default returns the usual policy for work in a directory: programs and libraries can be read, /tmp is private, there is
// no home and no network, and everything is required. The directory itself is not shown: add it to Writable, as what it is,
// or to ReadOnly. Default looks at which toolchains are installed and makes Cache, and changes nothing else.
func Default(dir string, opt PresetOptions) Policy {
	if opt.Environ == nil {
		opt.Environ = os.Environ()
	}
	b := &builder{opt: opt, env: map[string]string{}, home: opt.Home}
	for _, e := range opt.Environ {
		if k, v, ok := strings.Cut(e, "="); ok {
			b.env[k] = v
		}
	}
	if b.home == "" {
		b.home, _ = os.UserHomeDir()
	}
	b.pol = Policy{
		Dir: dir, Require: DefaultRequire(), Files: map[string]string{},
		ProtectedNames: slices.Clone(opt.Protect), HiddenNames: slices.Clone(opt.Hide),
	}
	b.addSystem()
	b.pol.Cache = opt.Cache
	b.setEnv("HOME", Home)
	b.setEnv("TMPDIR", "/tmp")
	for _, p := range presets {
		if opt.Presets == nil || slices.Contains(opt.Presets, p.name) {
			p.apply(b, dir)
		}
	}
	b.addEnv()
	return b.pol
}

// exists reports whether a path is there and can be looked at.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (b *builder) readable(paths ...string) {
	for _, p := range paths {
		if exists(p) && !slices.Contains(b.pol.Readable, p) {
			b.pol.Readable = append(b.pol.Readable, p)
		}
	}
}

func (b *builder) setEnv(name, value string) { b.pol.Env = append(b.pol.Env, name+"="+value) }

func (b *builder) addSystem() {
	b.readable(systemDirs()...)
	for _, name := range etc {
		matches, _ := filepath.Glob("/etc/" + name)
		b.readable(matches...)
	}
	for _, dir := range filepath.SplitList(b.env["PATH"]) {
		if b.isSystem(dir) && !slices.Contains(b.path, dir) && exists(dir) {
			b.path = append(b.path, dir)
		}
	}
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"} {
		if !slices.Contains(b.path, dir) && exists(dir) {
			b.path = append(b.path, dir)
		}
	}
}

// isSystem reports whether a directory is visible without being named.
func (b *builder) isSystem(dir string) bool {
	return filepath.IsAbs(dir) && slices.ContainsFunc(systemDirs(), func(s string) bool { return hostpath.Within(s, filepath.Clean(dir)) })
}

// cache returns the directory for one tool's cache, which outlives the run if there is a cache at all.
func (b *builder) cache(name string) string {
	if b.pol.Cache.owner == "" {
		return filepath.Join(noCache, name)
	}
	_ = b.pol.Cache.make(name) // the run says so where it cannot be made
	return filepath.Join(b.pol.Cache.seen, name)
}

func (b *builder) addEnv() {
	names := append(slices.Clone(passed), b.opt.PassEnv...)
	for name, value := range b.env {
		if slices.Contains(names, name) || strings.HasPrefix(name, "LC_") {
			b.setEnv(name, value)
		}
	}
	b.pol.Env = append(b.pol.Env, b.registries().Environ()...)
	b.setEnv("PATH", strings.Join(b.path, string(os.PathListSeparator)))
	b.setEnv("USER", "sandbox")
	b.setEnv("LOGNAME", "sandbox")
	b.setEnv("SHELL", "/bin/sh")
	slices.Sort(b.pol.Env)
}
