// Package layers holds the rules about which package may import which, as tests.
package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tongs-ai/tongs"

// floors are the packages by the floor they stand on. A package may import packages of lower floors only; the reason
// stands beside each floor. A package that is not listed fails the test: decide where it belongs.
var floors = []struct {
	name, reason string
	packages     []string
}{
	{
		"0 vocabulary", "everybody programs against it, so it depends on nothing of ours",
		[]string{""},
	},
	{
		"1a° files and paths of the host", "mechanisms open what they trust, write state and follow links by these",
		[]string{"internal/owned", "internal/hostpath"},
	},
	{
		"1a mechanisms", "each is of use alone and knows the vocabulary only",
		[]string{
			"internal/environ", "internal/gitdir", "internal/id", "internal/jsonc", "internal/nearest", "internal/programoutput", "internal/secrets", "internal/cleantext", "internal/visibility", "internal/text",
			"schema", "workspace", "store", "netguard", "command",
			"sandbox", "sandbox/internal/launch", "sandbox/cmd/tongs-launch",
			"internal/search/ignore", "internal/search/literal", "internal/search/regex", "internal/search/walk", "internal/search/globs", "internal/search/grep", "internal/search/index", "internal/search/live", "internal/search/symbols", "internal/search/rank",
		},
	},
	{
		"1a' records of change", "keeps what the workspace changes, so that it can be taken back",
		[]string{"journal"},
	},
	{
		"1a\" outcomes", "reads what a program did to a copy, and makes it hold through the journal",
		[]string{"outcome"},
	},
	{
		"1b stages", "pure, or over an interface; they do not know each other, so that one can be read alone",
		[]string{"registry", "policy", "approval", "audit", "output"},
	},
	{
		"1b' durable forms", "the only place where the stages meet SQLite",
		[]string{"durable"},
	},
	{
		"1b\" confinement", "where decided effects become a sandbox, and requests; knows mechanisms, and where spilled files are read",
		[]string{"confine", "egress"},
	},
	{
		"1b\" logins", "how a person logs in to a tool server, over the network guard",
		[]string{"mcp/oauth"},
	},
	{
		"1b\" models", "how one speaks with language models; knows the vocabulary",
		[]string{"model"},
	},
	{
		"1b\" lowering", "what providers accept of names and schemas",
		[]string{"model/dialect"},
	},
	{
		"1b\" rendering", "the one place that writes specs out: for clients, models, people and snapshots",
		[]string{"internal/specs"},
	},
	{
		"1b\" wire", "requests, streams and errors, as all wire formats have them",
		[]string{"model/internal/wire"},
	},
	{
		"1b\" providers", "one wire format each",
		[]string{"model/anthropic", "model/openai", "model/gemini", "model/script", "model/xmltools"},
	},
	{
		"1b\" choice of a model", "the one place that knows all providers",
		[]string{"model/open"},
	},
	{
		"1b\" insights", "what the log tells: statistics, hits of rules, what a rule would have changed",
		[]string{"insight"},
	},
	{
		"1c tools", "a tool reaches the world through its Env only, never policy, approval or audit",
		[]string{"tools/files", "tools/search", "tools/shell", "tools/code", "tools/undo", "tools/web", "tools/todo", "custom", "mcpclient"},
	},
	{
		"1c' modules", "a module is served as an MCP server with a loader in front",
		[]string{"module", "internal/module/gohost"},
	},
	{
		"1c' workers", "agents as files; what they call, ask and spend is injected",
		[]string{"worker"},
	},
	{
		"1c\" sessions of workers", "the only place where workers meet SQLite",
		[]string{"internal/state/sessions"},
	},
	{
		"2 engine", "the walk; the only package that knows all the stages",
		[]string{"engine"},
	},
	{
		"3 surfaces", "files, flags and screens over an engine",
		[]string{"config", "mcpserver", "console", "internal/terminal", "tools/serve", "telemetry", "adapters"},
	},
	{
		"3' configuration of clients", "reads servers out of other clients' files into our configuration",
		[]string{"internal/clientconfig"},
	},
	{
		"4 wiring", "the only place where the parts meet",
		[]string{"internal/wire"},
	},
	{
		"5 front doors", "the command, flags in and text out, and the same system for Go programs",
		[]string{"cmd/tongs", "system"},
	},
}

// anywhere are packages for tests, which may import what they like and which no product code imports.
var anywhere = []string{
	"tooltest", "test/english", "test/layers", "internal/state/statetest", "internal/workbench", "engine/audit/audittest", "engine/approval/approvaltest", "mcp/oauth/oauthtest", "model/modeltest",
	"test/bench/outcomes", "test/bench/sandbox", "test/bench/search", "test/bench/mcp", "test/bench/outcomes",
	"test/scripts/house",
	"test/e2e/clients", "test/e2e/clients/internal/model", "test/e2e/conformance/server", "test/e2e/conformance/client",
}

// denied are imports that a floor's order allows and a reason forbids.
var denied = []struct{ from, to, reason string }{
	{"builtin/", "registry", "tools do not know the stages"},
	{"builtin/", "policy", "tools do not know the stages"},
	{"builtin/", "approval", "tools do not know the stages"},
	{"builtin/", "audit", "tools do not know the stages"},
	{"builtin/", "durable", "tools do not know the stages"},
	{"builtin/", "workspace", "tools reach files through their Env, which checks what was decided"},
	{"custom", "registry", "tools do not know the stages"},
	{"custom", "policy", "tools do not know the stages"},
	{"custom", "approval", "tools do not know the stages"},
	{"custom", "audit", "tools do not know the stages"},
	{"custom", "durable", "tools do not know the stages"},
	{"custom", "confine", "the walk decides what a tool may do, and gives it by Env"},
	{"mcpclient", "registry", "tools do not know the stages"},
	{"mcpclient", "policy", "tools do not know the stages"},
	{"mcpclient", "approval", "tools do not know the stages"},
	{"mcpclient", "audit", "tools do not know the stages"},
	{"mcpclient", "durable", "tools do not know the stages"},
	{"mcpclient", "confine", "the walk decides what a server may do, and gives it by Env"},
	{"engine", "durable", "a program that embeds the engine need not link SQLite"},
	{"engine", "store", "a program that embeds the engine need not link SQLite"},
	{"config", "engine", "configuration is data; internal/wire makes an engine of it"},
	{"config", "durable", "configuration is data; internal/wire makes an engine of it"},
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

func floorOf(name string) int {
	for i, f := range floors {
		if slices.Contains(f.packages, name) {
			return i
		}
	}
	return -1
}

func TestEachPackageImportsLowerFloorsOnly(t *testing.T) {
	for _, p := range list(t, module+"/...") {
		from := short(p.ImportPath)
		if slices.Contains(anywhere, from) {
			continue
		}
		floor := floorOf(from)
		if floor < 0 {
			t.Errorf("%s stands on no floor: add it to floors", from)
			continue
		}
		for _, imp := range p.Imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				continue
			}
			to := short(imp)
			switch target := floorOf(to); {
			case slices.Contains(anywhere, to):
				t.Errorf("%s imports %s, which is for tests", from, to)
			case target > floor, target == floor && !mechanism(from, to):
				t.Errorf("%s (%s) imports %s (%s): %s", from, floors[floor].name, to, floors[target].name, floors[floor].reason)
			}
			for _, d := range denied {
				if strings.HasPrefix(from, d.from) && to == d.to {
					t.Errorf("%s imports %s: %s", from, to, d.reason)
				}
			}
		}
	}
}

// mechanism allows what serves its own floor: the helpers under internal, and the parts of one mechanism.
func mechanism(from, to string) bool {
	if strings.HasPrefix(to, "internal/") && !strings.HasPrefix(from, "internal/") {
		return true
	}
	family, _, _ := strings.Cut(from, "/")
	return (family == "sandbox" || family == "search") && strings.HasPrefix(to, family+"/")
}

// A program that embeds Tongs as a library must not pay for what it does not use.
func TestEmbeddingLinksNoDatabaseAndNoUserInterface(t *testing.T) {
	heavy := []string{
		"sqlite", "modernc.org", "spf13/cobra", "charm.land", "charmbracelet", "goccy/go-yaml", "anthropic", "openai", "genai",
		"evanw/esbuild", "modelcontextprotocol", module + "/durable", module + "/store", module + "/config",
	}
	for _, p := range list(t, "-deps", module, module+"/engine", module+"/builtin/files") {
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
