// Package layers holds the rules about which package may import which, as tests.
package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tongs-ai/tongs"

// floors are the rooms of the house by the floor they are on. A room is a folder with all below it, except what a longer
// name in this table takes out of it. A package imports lower floors and its own room; across lists the exceptions.
var floors = []struct {
	name, reason string
	rooms        []string
}{
	{
		"0 vocabulary", "everybody programs against it, so it depends on nothing of ours",
		[]string{""},
	},
	{
		"1 helpers", "small and of use anywhere; they know the vocabulary only. A new folder below internal is one unless it is listed",
		[]string{"internal", "model/dialect"},
	},
	{
		"2 mechanisms", "files, programs, requests, schemas, searches: each is of use alone, without a call",
		[]string{"schema", "workspace", "sandbox", "network", "internal/changeset", "internal/gitrelay", "internal/search", "internal/shellsyntax", "internal/specs", "internal/sqlitefile"},
	},
	{
		"3 stages", "pure, or over an interface; they do not know each other, so that one can be read alone",
		[]string{"engine/registry", "engine/policy", "engine/approval", "engine/audit", "engine/output"},
	},
	{
		"4 engine", "the walk; the only package that knows all the stages",
		[]string{"engine"},
	},
	{
		"5 parts", "tools, models and what else an engine is given: chosen and put together by others",
		[]string{
			"tools", "mcp", "model", "worker", "internal/forge", "internal/module",
			"internal/confine", "internal/insight", "internal/state",
		},
	},
	{
		"6 surfaces", "configuration, wiring, screens and protocols over an engine",
		[]string{
			"system", "cmd", "adapters", "mcp/mcpserver", "tools/serve",
			"internal/wire", "internal/config", "internal/console", "internal/telemetry", "internal/terminal", "internal/cli",
			"internal/doctor", "internal/reference", "internal/clientconfig", "internal/guard", "internal/question", "internal/notify",
		},
	},
}

// apart are rooms whose folders do not know each other.
var apart = []string{"tools"}

// across are imports between rooms of one floor, each with its reason. Surfaces may import each other.
var across = []struct{ from, to, reason string }{
	{"internal/changeset", "workspace", "changes are kept as one transaction of the journal"},
	{"internal/changeset", "sandbox", "changes are read from a layer of the sandbox"},
	{"internal/confine", "internal/changeset", "a program on a copy leaves a changeset"},
	{"internal/gitrelay", "network", "git reaches its remotes through the guard of the network"},
	{"internal/module", "mcp", "a module is served as an MCP server with a loader in front"},
	{"internal/state", "worker", "the sessions of workers are kept in SQLite"},
	{"worker", "model", "a worker is a loop over a model"},
	{"worker", "tools", "a session shows the list that the todo tools keep"},
}

// tests are packages for tests, which may import what they like and which no product code imports.
var tests = []string{
	"test", "tools/tooltest", "engine/approval/approvaltest", "engine/audit/audittest", "model/modeltest", "mcp/oauth/oauthtest",
	"internal/state/statetest", "internal/workbench",
}

// denied are imports that the floors allow and a reason forbids: from a room, to a folder and all below it.
var denied = []struct{ from, to, reason string }{
	{"tools", "engine", "tools do not know the walk and its stages"},
	{"tools", "internal/state", "a tool keeps what it must through its Env"},
	{"tools", "internal/confine", "the walk decides what a tool may do, and gives it by Env"},
	{"tools", "workspace!", "tools reach files through their Env, which checks what was decided"},
	{"internal/forge", "engine", "tools do not know the walk and its stages"},
	{"internal/forge", "internal/state", "a tool keeps what it must through its Env"},
	{"internal/forge", "internal/confine", "the walk decides what a tool may do, and gives it by Env"},
	{"mcp", "engine", "tools do not know the walk and its stages"},
	{"mcp", "internal/state", "a tool keeps what it must through its Env"},
	{"mcp", "internal/confine", "the walk decides what a server may do, and gives it by Env"},
	{"internal/config", "engine!", "configuration is data; internal/wire makes an engine of it"},
	{"internal/config", "internal/state", "configuration is data; internal/wire makes an engine of it"},
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func short(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// within reports whether a package is in a folder or below it. The root is a folder of its own, and so is one that ends in "!".
func within(name, folder string) bool {
	if own, exact := strings.CutSuffix(folder, "!"); exact || folder == "" {
		return name == own
	}
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// place is where a package is in the house.
type place struct {
	floor int
	room  string
	test  bool
}

// placeOf finds the longest room that a package is within; false where there is none.
func placeOf(name string) (p place, ok bool) {
	length := -1
	for i, f := range floors {
		for _, room := range f.rooms {
			if within(name, room) && len(room) > length {
				p, length = place{floor: i, room: room}, len(room)
			}
		}
	}
	for _, folder := range tests {
		if within(name, folder) && len(folder) > length {
			p, length = place{room: folder, test: true}, len(folder)
		}
	}
	return p, length >= 0
}

// forbidden says why a package may not import another, empty where it may.
func forbidden(from, to string) string {
	a, okA := placeOf(from)
	b, okB := placeOf(to)
	switch {
	case !okA || !okB:
		return "one of them is on no floor"
	case a.test:
		return ""
	case b.test:
		return "it is for tests"
	}
	for _, d := range denied {
		if a.room == d.from && within(to, d.to) {
			return d.reason
		}
	}
	same := a.room == b.room && !slices.Contains(apart, a.room)
	switch top := len(floors) - 1; {
	case b.floor < a.floor, same, a.floor == top && b.floor == top:
		return ""
	}
	for _, x := range across {
		if a.room == x.from && b.room == x.to {
			return ""
		}
	}
	return floors[a.floor].name + ": " + floors[a.floor].reason + "; the other is on " + floors[b.floor].name
}

func TestEachPackageImportsLowerFloorsOnly(t *testing.T) {
	for _, p := range list(t, module+"/...") {
		from := short(p.ImportPath)
		if _, ok := placeOf(from); !ok {
			t.Errorf("%s is on no floor: add its room to floors", from)
			continue
		}
		for _, imp := range p.Imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				continue
			}
			if why := forbidden(from, short(imp)); why != "" {
				t.Errorf("%s imports %s: %s", from, short(imp), why)
			}
		}
	}
}

// The rules forbid what they should: each line is an import that somebody may be tempted to write.
func TestForbiddenImports(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"engine/policy", "engine/approval", false},
		{"engine/policy", "", true},
		{"engine", "engine/policy", true},
		{"engine", "internal/state", false},
		{"tools/files", "engine/policy", false},
		{"tools/files", "workspace", false},
		{"tools/undo", "workspace/journal", true},
		{"tools/files", "tools/shell", false},
		{"tools/serve", "engine", true},
		{"internal/text", "workspace", false},
		{"internal/text", "internal/id", true},
		{"internal/search/grep", "internal/search/walk", true},
		{"internal/confine", "internal/changeset", true},
		{"internal/changeset", "internal/confine", false},
		{"mcp/mcpclient", "mcp/oauth", true},
		{"mcp/mcpclient", "engine", false},
		{"mcp/mcpserver", "engine/approval", true},
		{"internal/config", "engine", false},
		{"internal/config", "engine/policy", true},
		{"cmd/tongs", "internal/wire", true},
		{"internal/wire", "tools/tooltest", false},
		{"test/bench/search", "internal/search/grep", true},
		{"unknown", "engine", false},
	} {
		if got := forbidden(c.from, c.to) == ""; got != c.allowed {
			t.Errorf("%s imports %s: allowed is %v, want %v (%s)", c.from, c.to, got, c.allowed, forbidden(c.from, c.to))
		}
	}
}

// Every line of the tables is needed, so that none outlives what it was for.
func TestEveryExceptionIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, p := range list(t, module+"/...") {
		a, _ := placeOf(short(p.ImportPath))
		for _, imp := range p.Imports {
			if b, ok := placeOf(short(imp)); ok && strings.HasPrefix(imp, module) {
				used[a.room+" "+b.room] = true
			}
		}
	}
	for _, x := range across {
		if !used[x.from+" "+x.to] {
			t.Errorf("nothing in %s imports %s any more", x.from, x.to)
		}
	}
}

// A program that embeds Tongs as a library must not pay for what it does not use.
func TestEmbeddingLinksNoDatabaseAndNoUserInterface(t *testing.T) {
	heavy := []string{
		"sqlite", "modernc.org", "spf13/cobra", "charm.land", "charmbracelet", "goccy/go-yaml", "anthropic", "openai", "genai",
		"evanw/esbuild", "modelcontextprotocol", module + "/internal/state", module + "/internal/config",
	}
	for _, p := range list(t, "-deps", module, module+"/engine", module+"/tools/files") {
		for _, h := range heavy {
			if strings.Contains(p.ImportPath, h) {
				t.Errorf("embedding links %s", p.ImportPath)
			}
		}
	}
}

// The vocabulary's only dependency is schema inference.
func TestVocabularyDependsOnSchemaInferenceOnly(t *testing.T) {
	for _, p := range list(t, "-deps", module) {
		outside := strings.Contains(strings.SplitN(p.ImportPath, "/", 2)[0], ".")
		if outside && p.ImportPath != module && !strings.HasPrefix(p.ImportPath, "github.com/google/jsonschema-go/") {
			t.Errorf("the root package depends on %s", p.ImportPath)
		}
	}
}

// The house has at most 18 rooms at the top, and each says what it is for.
func TestTheTopOfTheHouse(t *testing.T) {
	const root = "../.."
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	rooms := 0
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && !strings.HasPrefix(name, ".") && name != "bin" && name != "dist" {
			rooms++
			if !explained(t, filepath.Join(root, name)) {
				t.Errorf("%s has neither a package comment nor a README.md", name)
			}
		}
	}
	if rooms > 18 {
		t.Errorf("%d folders at the top, at most 18 are wanted", rooms)
	}
}

// explained reports whether a folder says what it is for.
func explained(t *testing.T, dir string) bool {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "README.md")); err == nil {
		return true
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc != nil {
			return true
		}
	}
	return false
}
