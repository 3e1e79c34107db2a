package project

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

//go:embed programs/packages.js
var listPackages string

// wanted is a package that a call names, with the version that it wants, or none.
type wanted struct{ name, version string }

// Package is one that was installed.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

func (p Package) String() string { return strings.TrimSuffix(p.Name+" "+p.Version, " ") }

// manager is a program that installs packages.
type manager struct {
	name, install string
	// group names the public registry, whose address is registry; kind is what configuration calls the registries of it.
	group, registry, kind string
	marks                 func(*place) bool
	// pattern is what a name may look like; spec spells one with its version for the program.
	pattern *regexp.Regexp
	spec    func(wanted) string
	// programs start it. Scripts are let run where scripts is set, by a manager that does not list them.
	programs func(p *place, specs []string, dev, scripts bool) ([]program, error)
	// code says what scripts are, empty for a manager that runs none.
	code string
	// lists says that packages and their scripts are listed by Node. Rebuild is what runs the scripts of packages that are
	// installed.
	lists   bool
	rebuild []string
	// installed finds what was installed in the output.
	installed func(stdout, stderr string) []Package
	// missing matches messages about a package or version that does not exist.
	missing *regexp.Regexp
}

var (
	npmName   = regexp.MustCompile(`^(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-zA-Z0-9~_][a-zA-Z0-9._~-]*$`)
	pipName   = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9._,-]+\])?$`)
	goName    = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*\.[a-zA-Z]{2,}(?::\d+)?(?:/[a-zA-Z0-9._~-]+)*$`)
	crateName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)
	version   = regexp.MustCompile(`^[\^~=]?[a-zA-Z0-9*][a-zA-Z0-9.*+_-]*$`)

	goAdded    = regexp.MustCompile(`(?m)^go: (?:added|upgraded|downgraded) (\S+) (?:\S+ => )?(\S+)$`)
	cargoAdded = regexp.MustCompile(`(?m)^\s+Adding (\S+) v(\S+) `)
)

func at(w wanted) string {
	if w.version == "" {
		return w.name
	}
	return w.name + "@" + w.version
}

func one(argv ...string) []program { return []program{{argv: argv}} }

func flag(on bool, name string) []string {
	if on {
		return []string{name}
	}
	return nil
}

func javascriptManager(name string) func(*place) bool {
	return func(p *place) bool {
		m, ok := p.manifest()
		return ok && p.javascript(m) == name
	}
}

var npmRebuild = []string{"npm", "rebuild", "--ignore-scripts=false", "--foreground-scripts", "--"}

const installCode = "install scripts of the packages"

// managers are all that are known.
var managers = []manager{
	{
		name: "npm", install: "install npm (the package is usually called npm)", group: "npm", registry: "https://registry.npmjs.org/", kind: "npm",
		marks: javascriptManager("npm"), pattern: npmName, spec: at, code: installCode, lists: true,
		programs: func(_ *place, specs []string, dev, _ bool) ([]program, error) {
			return one(slices.Concat([]string{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"}, flag(dev, "--save-dev"), []string{"--"}, specs)...), nil
		},
		rebuild: npmRebuild,
		missing: regexp.MustCompile(`\b(?:E404|ETARGET)\b`),
	},
	{
		name: "pnpm", install: "install it with 'npm install -g pnpm'", group: "npm", registry: "https://registry.npmjs.org/", kind: "npm",
		marks: javascriptManager("pnpm"), pattern: npmName, spec: at, code: installCode, lists: true,
		programs: func(_ *place, specs []string, dev, _ bool) ([]program, error) {
			return one(slices.Concat([]string{"pnpm", "add", "--ignore-scripts"}, flag(dev, "--save-dev"), specs)...), nil
		},
		rebuild: []string{"pnpm", "rebuild", "--config.ignore-scripts=false", "--config.dangerously-allow-all-builds=true"},
		missing: regexp.MustCompile(`ERR_PNPM_FETCH_404|ERR_PNPM_NO_MATCHING_VERSION`),
	},
	{
		name: "yarn", install: "install it with 'npm install -g yarn'", group: "npm", registry: "https://registry.yarnpkg.com/", kind: "npm",
		marks: javascriptManager("yarn"), pattern: npmName, spec: at, code: installCode, lists: true,
		programs: func(p *place, specs []string, dev, _ bool) ([]program, error) {
			if p.has(".yarnrc.yml") {
				return nil, tongs.Errorf(tongs.CodeConfigError, "the project uses a newer yarn than version 1, which this tool does not know; use shell: yarn add")
			}
			return one(slices.Concat([]string{"yarn", "add", "--non-interactive"}, []string{"--ignore-scripts"}, flag(dev, "--dev"), specs)...), nil
		},
		rebuild: npmRebuild,
		missing: regexp.MustCompile(`Couldn't find (?:package|any versions)|Request failed "404`),
	},
	{
		name: "pip", install: "install Python 3 (the package is usually called python3)", group: "pypi", registry: "https://pypi.org/simple/", kind: "pip",
		marks:   (*place).isPython,
		pattern: pipName, code: "build scripts of packages that have no wheel", installed: pipInstalled,
		spec: func(w wanted) string {
			if w.version == "" {
				return w.name
			}
			return w.name + "==" + strings.TrimLeft(w.version, "=")
		},
		programs: func(p *place, specs []string, _, scripts bool) ([]program, error) {
			python := p.python()
			if python == "python3" {
				return nil, tongs.Errorf(tongs.CodeConfigError, "the project has no Python environment, and packages of the system are not changed; "+
					"make one with shell: python3 -m venv .venv")
			}
			return one(slices.Concat([]string{python, "-I", "-m", "pip", "install", "--quiet", "--report=-"}, flag(!scripts, "--only-binary=:all:"), []string{"--"}, specs)...), nil
		},
		missing: regexp.MustCompile(`No matching distribution found for`),
	},
	{
		name: "go", install: "install Go from go.dev/dl", group: "go", registry: "https://proxy.golang.org/", kind: "go",
		marks: func(p *place) bool { return p.has("go.mod") }, pattern: goName, spec: at,
		programs: func(_ *place, specs []string, _, _ bool) ([]program, error) {
			return one(append([]string{"go", "get", "--"}, specs...)...), nil
		},
		installed: func(_, stderr string) []Package { return found(goAdded, stderr) },
		missing:   regexp.MustCompile(`404 Not Found|no matching versions|unknown revision|not found: |unrecognized import path`),
	},
	{
		name: "cargo", install: "install Rust from rustup.rs", group: "crates", registry: "https://index.crates.io/", kind: "cargo",
		marks: func(p *place) bool { return p.has("Cargo.toml") }, pattern: crateName, spec: at,
		programs: func(_ *place, specs []string, dev, _ bool) ([]program, error) {
			add := slices.Concat([]string{"cargo", "add", "--color=never"}, flag(dev, "--dev"), []string{"--"}, specs)
			return []program{{argv: add}, {argv: []string{"cargo", "fetch", "--color=never"}}}, nil
		},
		installed: func(_, stderr string) []Package { return found(cargoAdded, stderr) },
		missing:   regexp.MustCompile(`could not be found in registry|no matching package|failed to select a version|could not find `),
	},
}

func found(pattern *regexp.Regexp, text string) (list []Package) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		list = append(list, Package{m[1], m[2]})
	}
	return list
}

// pipInstalled reads the report of pip.
func pipInstalled(stdout, _ string) (list []Package) {
	var report struct {
		Install []struct {
			Metadata struct{ Name, Version string }
		}
	}
	at := strings.IndexByte(stdout, '{')
	if at < 0 || json.NewDecoder(strings.NewReader(stdout[at:])).Decode(&report) != nil {
		return nil
	}
	for _, i := range report.Install {
		list = append(list, Package{i.Metadata.Name, i.Metadata.Version})
	}
	return list
}

// parse reads names as a call gives them: name, name@version, for pip also name==version.
func (m *manager) parse(names []string) (list []wanted, err error) {
	for _, text := range names {
		w := wanted{name: text}
		if at := strings.LastIndexByte(text, '@'); at > 0 {
			w = wanted{text[:at], text[at+1:]}
		} else if name, version, ok := strings.Cut(text, "=="); ok && m.name == "pip" {
			w = wanted{name, version}
		}
		if !m.pattern.MatchString(w.name) || len(text) > 300 || strings.Contains(w.name, "..") {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%q is no package of a registry that %s installs: give a name, or name@version. "+
				"For files, repositories and addresses use shell", text, m.name)
		}
		if w.name != text && !version.MatchString(w.version) {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%q: the version %q is none that can be named here; give one version, such as 1.2.3, or a tag", text, w.version)
		}
		list = append(list, w)
	}
	return list, nil
}
