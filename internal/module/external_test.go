package module_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/module"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// A package of npm exposes the tools that are listed, from the export that is named.
func TestExternalPackage(t *testing.T) {
	t.Parallel()
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll},
		"node_modules/@vercel/ai-tools/package.json", `{"name": "@vercel/ai-tools", "version": "1.0.0", "type": "module", "exports": "./dist/index.js"}`,
		"node_modules/@vercel/ai-tools/dist/index.js", `import { z } from 'zod';
import { join } from 'words';
export const webSearchTools = {
  web_search: { description: 'Searches.', inputSchema: z.object({ query: z.string().default('none') }), execute: async ({ query }) => ({ found: join(query) }) },
  hidden: { description: 'Hidden.', inputSchema: z.object({}), execute: async () => 1 },
};
export const listed = [{ name: 'first', description: 'First.', inputSchema: z.object({}), execute: async () => 'first' }];
`,
		"node_modules/words/package.json", `{"name": "words", "version": "2.0.0"}`,
		"node_modules/words/index.js", `exports.join = (q) => 'found ' + q;`)
	b.zod()
	external := func(name, imports string, tools ...string) module.Config {
		return module.Config{Package: name, Import: imports, Dir: b.Dir, Tools: tools, Origin: "config.yaml:9"}
	}
	b.mods = []module.Config{external("@vercel/ai-tools", "webSearchTools", "web_search")}
	b.open()
	v, err := b.set.Look(context.Background(), "@vercel/ai-tools")
	b.Must(err)
	contains(t, v.Text, "@vercel/ai-tools 1.0.0: 1 files", "words 2.0.0: 1 files", "zod 4.")
	b.approve("@vercel/ai-tools")
	if got := b.value("web_search", args{"query": "x"}); got != `{"found":"found x"}` {
		t.Errorf("got %s", got)
	}
	if got := b.value("web_search"); got != `{"found":"found none"}` {
		t.Errorf("got %s", got)
	}
	if _, ok := b.Engine.Set().Lookup("hidden"); ok || b.spec("web_search").Toolset != "external" {
		t.Error("what is not listed is exposed, or in the wrong toolset")
	}
	b.mods = []module.Config{external("@vercel/ai-tools", "listed", "first", "second")}
	b.open()
	v, err = b.set.Look(context.Background(), "@vercel/ai-tools")
	b.Must(err)
	b.Must(b.set.Approve(context.Background(), v, "test"))
	if got := b.value("first"); got != `"first"` {
		t.Errorf("got %s", got)
	}
	b.Fails(tongs.CodeConfigError, "@vercel/ai-tools exports no second; it exports first", b.Call("second"))
	for _, tt := range []struct {
		c    module.Config
		says string
	}{
		{external("absent", "", "x"), "the package absent is not installed: run 'npm install absent' in "},
		{external("../up", "", "x"), "cannot be one of npm"},
		{external("words", ""), "no tools of words are listed"},
	} {
		b.mods = []module.Config{tt.c}
		b.open()
		contains(t, b.set.States()[0].Detail, tt.says)
	}
}

// A module with a go.mod of its own that imports tongs exports finished tools, whose plans count.
func TestGoModuleWithTools(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	requires := strings.Join(regexp.MustCompile(`(?ms)^require \(.*?^\)`).FindAllString(string(own), -1), "\n")
	b := newBench(t, workbench.Options{},
		"go.mod", "module example.com/tools\n\ngo 1.26.0\n\nrequire github.com/tongs-ai/tongs v0.0.0\n\nreplace github.com/tongs-ai/tongs => "+root+"\n\n"+requires+"\n",
		"go.sum", string(sum),
		"words/words.go", "package words\n\nconst Hello = \"hello \"\n",
		"tools.go", `package tools

import (
	"context"

	"github.com/tongs-ai/tongs"
	_ "github.com/tongs-ai/tongs/tools/serve"
	"example.com/tools/words"
)

type in struct { Path string `+"`json:\"path\"`"+` }

func Tools() []tongs.Tool {
	read, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "greet", Description: "Greets.", Needs: tongs.Read, Default: tongs.PreApproved},
		Plan: func(_ context.Context, v *tongs.View, in in) (*tongs.Plan, error) {
			p, err := v.Files.Resolve(in.Path)
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: p}}}, err
		},
		Run: func(_ context.Context, env *tongs.Env, in in) (string, error) { return words.Hello + in.Path, nil },
	})
	if err != nil {
		panic(err)
	}
	return []tongs.Tool{read}
}
`)
	b.ready("tools.go", "greet")
	e := b.Explain("greet", args{"path": "a.txt"})
	if len(e.Effects) != 2 || e.Effects[1].Kind != tongs.EffectRead || e.Effects[1].Path.Rel != "a.txt" || e.Decision != tongs.Ask {
		t.Errorf("%+v", e)
	}
	if got := b.OK("greet", args{"path": "a.txt"}).Content; got != "hello a.txt" {
		t.Errorf("got %q", got)
	}
	v, err := b.set.Look(context.Background(), "tools.go")
	b.Must(err)
	if v.Changed {
		t.Error("it changed")
	}
	b.Put("words/words.go", "package words\n\nconst Hello = \"hi \"\n", 0o644)
	if st := b.set.States()[0]; st.Status != tongs.StatusChanged {
		t.Errorf("%+v", st)
	}
}
