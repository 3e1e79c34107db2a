package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
)

const wholeWorker = `---
name: reviewer
description: Reviews code.
model: anthropic:some-model
compatible_models: ["anthropic:*", "some-*"]
max_tokens: 4000
temperature: 0.2
price: {input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75}
toolsets:
  filesystem:
    approval: {tools: {write: blocked}}
    rules:
      - {pattern: "docs/**", approval: preApproved, effects: [write]}
  search: {}
  shell:
    default: blocked
    rules:
      - {pattern: "git log", approval: preApproved, match: [git log -p], notMatch: [git push]}
  code:
  web: {hosts: [example.com]}
  todo: {}
  custom: {module: ./tools.go, tools: [fib]}
  external: {package: "@x/y", tools: [z]}
  mcp:
    github: {tools: [search]}
    local: {command: ./server}
  workers: [helper]
approval: {mode: none, default: ask}
zones:
  workspace: {mode: ro}
  out: {path: ./build/../out, mode: rw, approval: {write: preApproved, delete: blocked}}
limits: {turns: 10, tokens: 100000, time: 5m, filesChanged: 3, linesChanged: 200, cost: 0.5, context: 50000}
attachments: {count: 2, bytes: 1MiB, types: ["image/*"]}
output: {type: object, properties: {ok: {type: boolean}}, required: [ok]}
---
# You review

Carefully.
`

func parseWorker(t testing.TB, name, text string, trusted bool) (*config.Worker, error) {
	t.Helper()
	return config.ParseWorker(filepath.Join(t.TempDir(), name), []byte(text), config.WorkerOptions{
		Trusted: func(string, string) bool { return trusted },
	})
}

func TestWorkerFile(t *testing.T) {
	w, err := parseWorker(t, "r.worker", wholeWorker, true)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(w.Path)
	if w.Name != "reviewer" || w.Description != "Reviews code." || w.Model != "anthropic:some-model" || w.MaxTokens != 4000 ||
		*w.Temperature != 0.2 || *w.Price.CacheWrite != 3.75 || w.Instructions != "# You review\n\nCarefully.\n" || !w.Trusted || !w.Zoned {
		t.Errorf("%+v", w.File)
	}
	if l := w.Limits; l.Turns != 10 || l.Tokens != 100000 || l.Time != 5*time.Minute || l.FilesChanged != 3 || l.LinesChanged != 200 ||
		l.Cost != 0.5 || l.Context != 50000 {
		t.Errorf("limits: %+v", l)
	}
	if a := w.Attachments; a.Count != 2 || a.Bytes != 1<<20 || !reflect.DeepEqual(a.Types, []string{"image/*"}) {
		t.Errorf("attachments: %+v", a)
	}
	want := []string{"filesystem", "search", "shell", "code", "web", "todo", "external", "mcp", "workers"}
	if !reflect.DeepEqual(w.File.Toolsets, want) || !reflect.DeepEqual(w.Workers, []string{"helper"}) ||
		!reflect.DeepEqual(w.Listed, []string{"fib", "z"}) || !reflect.DeepEqual(w.Servers, map[string][]string{"github": {"search"}, "local": nil}) {
		t.Errorf("toolsets: %v, workers %v, listed %v, servers %v", w.File.Toolsets, w.Workers, w.Listed, w.Servers)
	}
	if len(w.Toolsets.MCP) != 1 || w.Toolsets.MCP[0].Name != "local" || w.Toolsets.Custom[0].Module != filepath.Join(dir, "tools.go") {
		t.Errorf("what must be loaded: %+v", w.Toolsets)
	}
	if z := w.Zones[1]; z.Path != "./build/../out" || !z.Writable || *z.Write != tongs.PreApproved || *z.Delete != tongs.Blocked || w.Zones[0].Writable {
		t.Errorf("zones: %+v", w.Zones)
	}
	var rules []string
	for _, r := range w.Rules {
		if r.Layer != tongs.LayerWorker || r.Untrusted {
			t.Errorf("rule of layer %s, untrusted %t", r.Layer, r.Untrusted)
		}
		rules = append(rules, r.String())
	}
	for _, want := range []string{
		`write: blocked (worker, r.worker:11)`, `toolset filesystem write "docs/**": preApproved (worker, r.worker:13)`,
		`toolset shell execute: default blocked (worker, r.worker:16)`, `toolset project execute: default blocked (worker, r.worker:16)`, `toolset shell execute "git log": preApproved (worker, r.worker:18)`,
		`toolset web network "example.com": preApproved (worker, r.worker:20)`, `tools *: default ask (worker, r.worker:28)`, `tools *: ask (worker, r.worker:28)`,
	} {
		if !slices.Contains(rules, want) {
			t.Errorf("no rule %s in\n%s", want, strings.Join(rules, "\n"))
		}
	}
	if w, _ := parseWorker(t, "r.worker", wholeWorker, false); w.Trusted || !w.Rules[0].Untrusted {
		t.Error("a file that nobody vouched for is trusted")
	}
}

func TestWorkerInYAML(t *testing.T) {
	w, err := parseWorker(t, "helper.yaml", "description: x\nmodel: script:play.yaml\ninstructions: |\n  Do it.\nattachments: false\n", false)
	if err != nil {
		t.Fatal(err)
	}
	if w.Name != "helper" || w.Instructions != "Do it.\n" || w.Zoned || !w.Attachments.None || w.Model != "script:"+filepath.Join(filepath.Dir(w.Path), "play.yaml") {
		t.Errorf("%+v", w.File)
	}
}

// Everything that is not understood is an error that says where it is and what was meant.
func TestWrongWorkerFiles(t *testing.T) {
	for text, want := range map[string]string{
		"---\nnam: x\n---\nHi\n":                                                                   `:2:1: unknown key "nam"; did you mean "name"?`,
		"---\ntoolsets:\n  filesytem: {}\n---\nHi\n":                                               `:3:3: unknown key "filesytem" in toolsets; did you mean "filesystem"?`,
		"---\ntoolsets:\n  teleport: {}\n---\nHi\n":                                                `:3:3: unknown key "teleport" in toolsets; the keys here are code, custom`,
		"---\nlimits: {turn: 3}\n---\nHi\n":                                                        `unknown key "turn" in limits; did you mean "turns"?`,
		"---\nlimits: {turns: many}\n---\nHi\n":                                                    `limits.turns is "many"; want a whole number`,
		"---\nlimits: {cost: 1}\n---\nHi\n":                                                        `limits.cost needs a price`,
		"---\nzones: {out: {mode: rx}}\n---\nHi\n":                                                 `zones.out.mode is "rx"; it should be one of ro, rw`,
		"---\nzones: {}\nsandbox: {zones: {}}\n---\nHi\n":                                          `zones are given twice`,
		"---\nzones: {Out: {}}\n---\nHi\n":                                                         `zone name "Out"`,
		"---\napproval: {tools: {shell: allowed}}\n---\nHi\n":                                      `approval.tools.shell is "allowed"; it should be one of preApproved, ask, blocked`,
		"---\nname: a b\n---\nHi\n":                                                                `the name "a b": want 1 to 64`,
		"---\nname: a\n---\n\n":                                                                    `the worker has no instructions`,
		"---\nname: a\nHi\n":                                                                       `the front matter has no end`,
		"name: a\n":                                                                                `begins with a line ---`,
		"---\nname: a\ninstructions: x\n---\nHi\n":                                                 `stand below its front matter`,
		"---\nname: a\ntoolsets: {workers: [a]}\n---\nHi\n":                                        `lists itself`,
		"---\nmodel: x:y\ncompatible_models: [\"z:*\"]\n---\nHi\n":                                 `is not one of compatible_models`,
		"---\noutput: {type: objekt}\n---\nHi\n":                                                   `output is not a JSON schema`,
		"---\ntoolsets: {shell: {rules: [{pattern: 'git '}]}}\n---\nHi\n":                          `needs a pattern and an approval`,
		"---\ntoolsets: {web: {robots: ignore}}\n---\nHi\n":                                        `are settings of the configuration`,
		"---\nname: &a x\ndescription: *a\n---\nHi\n":                                              `:2:`,
		"---\ntemperature: 3\n---\nHi\n":                                                           `temperature is "3"; want a number from 0 to 2`,
		"---\nlimits: {time: soon}\n---\nHi\n":                                                     `limits.time is "soon"`,
		"---\ntoolsets: {custom: {tools: [x]}}\n---\nHi\n":                                         `lists tools but no module`,
		"---\ntoolsets: {shell: {rules: [{pattern: git, approval: ask, match: [ls]}]}}\n---\nHi\n": `ls`,
	} {
		_, err := parseWorker(t, "w.worker", text, true)
		if err == nil || !strings.Contains(err.Error(), want) || tongs.CodeOf(err) != tongs.CodeConfigError {
			t.Errorf("%q:\n%v\nwant %s", text, err, want)
		}
	}
	if _, err := parseWorker(t, "w.txt", "x", true); err == nil || !strings.Contains(err.Error(), "ends in .worker or .yaml") {
		t.Error(err)
	}
}

// A worker file is not read through a link, nor waited for.
func TestWorkerFileIsAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.worker")
	if err := os.WriteFile(path, []byte("---\n---\nHi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.LoadWorker(path, config.WorkerOptions{}); err != nil {
		t.Error(err)
	}
	link := filepath.Join(dir, "b.worker")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := config.LoadWorker(link, config.WorkerOptions{}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("through a link: %v", err)
	}
	if _, err := config.LoadWorker(dir, config.WorkerOptions{}); err == nil {
		t.Error("a directory was read")
	}
	if _, err := config.LoadWorker(filepath.Join(dir, "none.worker"), config.WorkerOptions{}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Error(err)
	}
}

func TestFindWorkers(t *testing.T) {
	ws, own := t.TempDir(), t.TempDir()
	for _, path := range []string{ws + "/workers/a.worker", ws + "/workers/b.yaml", ws + "/workers/notes.md", own + "/workers/c.worker"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := config.FindWorkers(ws, own)
	want := []config.FoundWorker{{own + "/workers/c.worker", true}, {ws + "/workers/a.worker", false}, {ws + "/workers/b.yaml", false}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := config.FindWorkers(t.TempDir(), ""); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// The schema for editors knows exactly the keys that are read, at every level, and takes what is read.
func TestWorkerSchema(t *testing.T) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(config.WorkerSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Resolve(nil); err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile(`the keys here are ([^\n]*)`)
	for at, yaml := range map[string]string{
		"":                          "%s: 1",
		"price":                     "price: {%s: 1}",
		"toolsets":                  "toolsets: {%s: 1}",
		"toolsets/filesystem":       "toolsets: {filesystem: {%s: 1}}",
		"toolsets/filesystem/rules": "toolsets: {filesystem: {rules: [{%s: 1}]}}",
		"toolsets/search":           "toolsets: {search: {%s: 1}}",
		"toolsets/shell":            "toolsets: {shell: {%s: 1}}",
		"toolsets/shell/rules":      "toolsets: {shell: {rules: [{%s: 1}]}}",
		"toolsets/code":             "toolsets: {code: {%s: 1}}",
		"toolsets/web":              "toolsets: {web: {%s: 1}}",
		"toolsets/web/rules":        "toolsets: {web: {rules: [{%s: 1}]}}",
		"toolsets/todo":             "toolsets: {todo: {%s: 1}}",
		"toolsets/custom":           "toolsets: {custom: {%s: 1}}",
		"toolsets/forge":            "toolsets: {forge: {%s: 1}}",
		"toolsets/external":         "toolsets: {external: {%s: 1}}",
		"toolsets/mcp/*":            "toolsets: {mcp: {x: {%s: 1}}}",
		"toolsets/search/approval":  "toolsets: {search: {approval: {%s: 1}}}",
		"approval":                  "approval: {%s: 1}",
		"zones/*":                   "zones: {x: {%s: 1}}",
		"zones/*/approval":          "zones: {x: {approval: {%s: 1}}}",
		"sandbox":                   "sandbox: {%s: 1}",
		"limits":                    "limits: {%s: 1}",
		"attachments":               "attachments: {%s: 1}",
	} {
		_, err := parseWorker(t, "w.worker", "---\n"+fmt.Sprintf(yaml, "qqqqqqqqqqqqqqqqqqqqqq")+"\n---\nHi\n", true)
		found := keys.FindStringSubmatch(fmt.Sprint(err))
		if found == nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		read := slices.DeleteFunc(strings.Split(found[1], ", "), func(key string) bool { // what only a configuration may say
			return at == "toolsets/web" && slices.Contains([]string{"proxy", "robots", "search"}, key)
		})
		var known []string
		for key := range walk(&schema, &schema, at).Properties {
			known = append(known, key)
		}
		slices.Sort(known)
		if !reflect.DeepEqual(read, known) {
			t.Errorf("%q: read are %v, the schema has %v", at, read, known)
		}
	}
}

// walk finds the schema of an object at a path of keys; * is any key.
func walk(root, s *jsonschema.Schema, path string) *jsonschema.Schema {
	for s.Ref != "" || len(s.AnyOf) > 0 || s.Items != nil {
		switch {
		case s.Ref != "":
			s = root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		case s.Items != nil:
			s = s.Items
		default:
			i := slices.IndexFunc(s.AnyOf, func(s *jsonschema.Schema) bool { return s.Type == "object" })
			s = s.AnyOf[i]
		}
	}
	key, rest, _ := strings.Cut(path, "/")
	switch key {
	case "":
		return s
	case "*":
		return walk(root, s.AdditionalProperties, rest)
	}
	return walk(root, s.Properties[key], rest)
}

func ExampleParseWorker() {
	w, err := config.ParseWorker("/project/reviewer.worker", []byte("---\ntoolsets: {filesystem: {}, serch: {}}\n---\nReview.\n"), config.WorkerOptions{})
	fmt.Println(w == nil)
	fmt.Println(err)
	// Output:
	// true
	// CONFIG_ERROR: /project/reviewer.worker:2:28: unknown key "serch" in toolsets; did you mean "search"?
	//        2 | toolsets: {filesystem: {}, serch: {}}
	//          |                            ^
}
