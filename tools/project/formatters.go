package project

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// formatter is a program that formats files. It is used where the project configures it, or where its language has no other.
type formatter struct {
	name    string
	install string
	// exts are the ends of the names of its files. Whole says that it finds the files of a directory itself.
	exts  []string
	whole bool
	// marks reports whether the project uses it.
	marks func(*place) bool
	// program starts it; list and write are its options for listing what it would change, and for changing it.
	program     func(*place) []string
	list, write []string
	// listed takes the name of a file from a line of what list writes to stdout or stderr; empty is none.
	listed func(line string) string
	// failed reports whether the exit code of list or write means that it could not do its work.
	failed func(code int) bool
	// print are the options that make it write the formatted text of its input, or of a file, to stdout.
	print func(file string) (argv []string, input bool)
}

func fixed(argv ...string) func(*place) []string { return func(*place) []string { return argv } }

func above(limit int) func(int) bool { return func(code int) bool { return code > limit } }

func asLine(line string) string { return line }

var (
	wouldReformat = regexp.MustCompile(`^would reformat (.+)$`)
	clangWarning  = regexp.MustCompile(`^(.+?):\d+:\d+: (?:warning|error): code should be clang-formatted`)
	rustEdition   = regexp.MustCompile(`(?m)^edition\s*=\s*"(\d{4})"`)
	goTool        = regexp.MustCompile(`(?m)^\s*(?:tool\s+)?mvdan\.cc/gofumpt\s*$`)
	golangciNames = []string{".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"}
	prettierNames = []string{
		".prettierrc", ".prettierrc.json", ".prettierrc.yml", ".prettierrc.yaml", ".prettierrc.json5", ".prettierrc.js", ".prettierrc.mjs", ".prettierrc.cjs",
		".prettierrc.toml", "prettier.config.js", "prettier.config.mjs", "prettier.config.cjs",
	}
	prettierPrograms = []string{"node_modules/prettier/bin/prettier.cjs", "node_modules/prettier/bin-prettier.js"}
)

func matched(pattern *regexp.Regexp) func(string) string {
	return func(line string) string {
		if m := pattern.FindStringSubmatch(line); m != nil {
			return m[1]
		}
		return ""
	}
}

// usesGofumpt reports whether the project formats its Go by gofumpt, which includes gofmt.
func (p *place) usesGofumpt() bool {
	return goTool.MatchString(p.read("go.mod")) || slices.ContainsFunc(golangciNames, func(name string) bool {
		return strings.Contains(p.read(name), "gofumpt")
	})
}

func gofumpt(p *place) []string {
	if goTool.MatchString(p.read("go.mod")) {
		return []string{"go", "tool", "gofumpt"}
	}
	return []string{"gofumpt"}
}

func rustfmt(p *place) []string {
	edition := "2015"
	if m := rustEdition.FindStringSubmatch(p.read("Cargo.toml")); m != nil {
		edition = m[1]
	}
	return []string{"rustfmt", "--edition=" + edition, "--color=never"}
}

func prettier(p *place) []string {
	for _, name := range prettierPrograms {
		if p.read(name) != "" {
			p.bind(name)
			return []string{"node", name}
		}
	}
	return []string{"prettier"}
}

// formatters are all that are known.
var formatters = []formatter{
	{
		name: "gofumpt", install: "install it with 'go install mvdan.cc/gofumpt@latest', or make it a tool of the module", exts: []string{".go"},
		marks:   func(p *place) bool { return p.has("go.mod") && p.usesGofumpt() },
		program: gofumpt, list: []string{"-l"}, write: []string{"-w"}, listed: asLine, failed: above(0),
		print: func(file string) ([]string, bool) { return []string{file}, false },
	},
	{
		name: "gofmt", install: "install Go from go.dev/dl", exts: []string{".go"},
		marks:   func(p *place) bool { return p.has("go.mod") && !p.usesGofumpt() },
		program: fixed("gofmt"), list: []string{"-l"}, write: []string{"-w"}, listed: asLine, failed: above(0),
		print: func(file string) ([]string, bool) { return []string{file}, false },
	},
	{
		name: "prettier", install: "install it in the project with install_package (prettier, dev)", whole: true,
		exts: strings.Fields(".js .jsx .mjs .cjs .ts .tsx .mts .cts .json .css .scss .less .html .vue .md .yml .yaml .graphql"),
		marks: func(p *place) bool {
			m, _ := p.manifest()
			return p.has(prettierNames...) || m.depends("prettier") || m.Prettier != nil
		},
		program: prettier, list: []string{"--list-different", "--ignore-unknown"}, write: []string{"--write", "--ignore-unknown", "--log-level=warn"},
		listed: asLine, failed: above(1),
		print: func(file string) ([]string, bool) { return []string{"--stdin-filepath=" + file}, true },
	},
	{
		name: "black", install: "install it with install_package (black) or as the system's package black", exts: []string{".py", ".pyi"}, whole: true,
		marks:   func(p *place) bool { return strings.Contains(p.read("pyproject.toml"), "[tool.black]") },
		program: black, list: []string{"--check"}, write: []string{"--quiet"}, listed: matched(wouldReformat), failed: above(1),
		print: func(string) ([]string, bool) { return []string{"--quiet", "-"}, true },
	},
	{
		name: "rustfmt", install: "install it with 'rustup component add rustfmt'", exts: []string{".rs"},
		marks:   func(p *place) bool { return p.has("Cargo.toml") },
		program: rustfmt, list: []string{"--check", "-l"}, write: nil, listed: asLine, failed: above(1),
		print: func(string) ([]string, bool) { return nil, true },
	},
	{
		name: "clang-format", install: "install it (the package is usually called clang-format)",
		exts:    strings.Fields(".c .h .cc .hh .cpp .hpp .cxx .hxx .m .mm .proto"),
		marks:   func(p *place) bool { return p.has(".clang-format", "_clang-format") },
		program: fixed("clang-format", "--style=file"), list: []string{"--dry-run"}, write: []string{"-i"}, listed: matched(clangWarning), failed: above(0),
		print: func(file string) ([]string, bool) { return []string{file}, false },
	},
	{
		name: "shfmt", install: "install it (the package is usually called shfmt)", exts: []string{".sh", ".bash"},
		marks: func(p *place) bool {
			return strings.Contains(p.read(".editorconfig"), ".sh") || len(p.names(shellFile)) > 0
		},
		program: fixed("shfmt"), list: []string{"-l"}, write: []string{"-w"}, listed: asLine, failed: above(1),
		print: func(file string) ([]string, bool) { return []string{file}, false },
	},
}

var shellFile = regexp.MustCompile(`\.(sh|bash)$`)

func black(p *place) []string { return []string{p.own("black", ".venv/bin/black", "venv/bin/black")} }

// formats reports whether a file is one of the formatter's.
func (f *formatter) formats(name string) bool { return slices.Contains(f.exts, path.Ext(name)) }
