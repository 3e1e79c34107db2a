// Package registries reads which package registries the user's and the project's own configuration name. What it returns tells
// a person what a host is. Credentials are never among it.
package registries

import (
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Place is where the configuration of package managers is looked for.
type Place struct {
	// Home and Getenv are the user's. Project is the directory of the project, empty for none.
	Home, Project string
	Getenv        func(string) string
}

// Named is a registry that a configuration names.
type Named struct {
	// Manager is the package manager: npm, pip, go or cargo. Key is what the file calls it, such as @corp:registry.
	Manager, Key string
	// URL is its address without credentials, Host the host of it as effects spell it.
	URL, Host string
	// By is the file or variable, and Project says that it is one of the project's, which anybody who changes the project can
	// change.
	By      string
	Project bool
}

// String says who names the registry.
func (n Named) String() string {
	if n.Project {
		return "named by " + n.By + " of this project"
	}
	return "named by " + n.By
}

// source is a file or a variable, and the keys in it that name registries. A nil key takes every line.
type source struct {
	manager, file, env, by string
	keys                   *regexp.Regexp
	project                bool
}

var (
	npmKeys   = regexp.MustCompile(`^(@[^:]+:)?registry$|^npmRegistryServer$`)
	pipKeys   = regexp.MustCompile(`^(extra[-_])?index([-_]url)?$|^url$|^find[-_]links$|^$`)
	cargoKeys = regexp.MustCompile(`^(registry|index|replace-with)$`)
	goKeys    = regexp.MustCompile(`^GOPROXY$`)
)

func (p Place) sources() (list []source) {
	config := p.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(p.Home, ".config")
	}
	user := func(manager string, keys *regexp.Regexp, file string) {
		by := file
		if rel, err := filepath.Rel(p.Home, file); err == nil && filepath.IsLocal(rel) {
			by = "~/" + filepath.ToSlash(rel)
		}
		list = append(list, source{manager: manager, file: file, by: by, keys: keys})
	}
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		list = append(list, source{manager: "npm", env: name, by: name})
	}
	user("npm", npmKeys, filepath.Join(p.Home, ".npmrc"))
	for _, name := range []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"} {
		list = append(list, source{manager: "pip", env: name, by: name})
	}
	for _, file := range []string{filepath.Join(config, "pip", "pip.conf"), filepath.Join(p.Home, ".pip", "pip.conf"), "/etc/pip.conf", filepath.Join(config, "uv", "uv.toml")} {
		user("pip", pipKeys, file)
	}
	list = append(list, source{manager: "go", env: "GOPROXY", by: "GOPROXY"})
	user("go", goKeys, filepath.Join(config, "go", "env"))
	cargo := p.Getenv("CARGO_HOME")
	if cargo == "" {
		cargo = filepath.Join(p.Home, ".cargo")
	}
	user("cargo", cargoKeys, filepath.Join(cargo, "config.toml"))
	if p.Project == "" {
		return list
	}
	for _, s := range []source{
		{manager: "npm", file: ".npmrc", keys: npmKeys},
		{manager: "npm", file: ".yarnrc.yml", keys: npmKeys},
		{manager: "pip", file: "pip.conf", keys: pipKeys},
		{manager: "pip", file: ".venv/pip.conf", keys: pipKeys},
		{manager: "pip", file: "requirements.txt", keys: pipKeys},
		{manager: "pip", file: "uv.toml", keys: pipKeys},
		{manager: "cargo", file: ".cargo/config.toml", keys: cargoKeys},
	} {
		s.by, s.project = s.file, true
		s.file = filepath.Join(p.Project, filepath.FromSlash(s.file))
		list = append(list, s)
	}
	return list
}

// Read returns the registries that are named, those of the user first. Files that cannot be read name none.
func (p Place) Read() (list []Named) {
	for _, s := range p.sources() {
		if s.env != "" {
			list = append(list, s.named("", p.Getenv(s.env))...)
			continue
		}
		for line := range strings.Lines(content(s.file)) {
			if key, value, ok := setting(line); ok && s.keys.MatchString(key) {
				list = append(list, s.named(key, value)...)
			}
		}
	}
	return list
}

// Find returns what names a host, the user's own configuration first.
func (p Place) Find(host string) (Named, bool) {
	for _, n := range p.Read() {
		if n.Host == host {
			return n, true
		}
	}
	return Named{}, false
}

// User are those that the user's own configuration names for a manager.
func (p Place) User(manager string) (list []Named) {
	p.Project = ""
	for _, n := range p.Read() {
		if n.Manager == manager {
			list = append(list, n)
		}
	}
	return list
}

// maxFile is how much of a file is read.
const maxFile = 256 << 10

// content is that of a regular file; others, and those that cannot be read, are empty.
func content(file string) string {
	f, err := hostpath.OpenFile(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// setting splits a line of an ini, TOML or YAML file, or an option of a list of requirements. A line that goes on with the value
// of the one before has an empty key.
func setting(line string) (key, value string, ok bool) {
	text := strings.TrimSpace(line)
	if text == "" || strings.ContainsAny(text[:1], "#;[") {
		return "", "", false
	}
	if option, ok := strings.CutPrefix(text, "--"); ok {
		at := strings.IndexAny(option, " =")
		if at < 0 {
			return "", "", false
		}
		return option[:at], option[at+1:], true
	}
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		return "", text, line[0] == ' ' || line[0] == '\t'
	}
	if key, value, ok = strings.Cut(text, "="); !ok {
		key, value, ok = strings.Cut(text, ": ")
	}
	return strings.Trim(strings.TrimSpace(key), `"`), value, ok
}

// address is a URL in a value.
var address = regexp.MustCompile(`https?://[^\s"',|]+`)

// named are the registries of a value.
func (s source) named(key, value string) (list []Named) {
	for _, text := range address.FindAllString(value, -1) {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" || strings.Contains(u.Host, "$") {
			continue
		}
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		list = append(list, Named{
			Manager: s.manager, Key: key, URL: u.String(), Host: host(u), By: s.by, Project: s.project,
		})
	}
	return list
}

// host spells the host of a URL as effects do.
func host(u *url.URL) string {
	name := strings.ToLower(u.Hostname())
	port := u.Port()
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port == "" || port == "80" || port == "443" {
		return strings.Trim(name, "[]")
	}
	return name + ":" + port
}

// boolean are values that cannot be a credential.
var (
	plainKey = regexp.MustCompile(`^[a-z][a-z-]*$`)
	boolean  = regexp.MustCompile(`^(true|false)$`)
)

// Redact is what a program may see of a .npmrc: the registries, without credentials, and settings that are true or false. It is
// empty for other files, and where nothing is left.
func Redact(file string) string {
	if filepath.Base(file) != ".npmrc" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(content(file)) {
		key, value, ok := setting(line)
		value = strings.TrimSpace(value)
		switch {
		case !ok:
		case npmKeys.MatchString(key) && !strings.ContainsAny(key, " \t"):
			if named := (source{}).named(key, value); len(named) == 1 {
				b.WriteString(key + "=" + named[0].URL + "\n")
			}
		case plainKey.MatchString(key) && boolean.MatchString(value):
			b.WriteString(key + "=" + value + "\n")
		}
	}
	return b.String()
}
