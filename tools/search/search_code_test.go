package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/tools/search"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func (b *bench) code(a args) (search.CodeOutput, *tongs.Result) {
	b.Helper()
	res := b.Call("search_code", a)
	out, err := tongs.ValueOf[search.CodeOutput](res)
	if err != nil {
		b.Fatalf("%v: %v", a, err)
	}
	return out, res
}

// with has calls made by tools with these options, and returns what has rules added to those of the same tools.
func (b *bench) with(opt search.Options) (ruled func(...tongs.Rule)) {
	b.Helper()
	list, err := search.Tools(opt)
	b.Must(err)
	var rules []tongs.Rule
	made := b.Open(base.Options{Nobody: true})
	made.Rules = func() []tongs.Rule { return rules }
	b.Build(made, list...)
	return func(more ...tongs.Rule) { rules = append(rules, more...) }
}

// first returns the first definition as path:line name.
func first(o search.CodeOutput) string {
	if len(o.Definitions) == 0 {
		return ""
	}
	d := o.Definitions[0]
	return fmt.Sprintf("%s:%d %s", d.Path, d.Line, d.Name)
}

var shop = []string{
	"shop/cart.go=package shop\n\n// Total adds up the prices of what is in the cart.\nfunc (c *Cart) Total() int {\n\treturn sum(c.items)\n}\n\ntype Cart struct {\n\titems []Item\n}\n",
	"shop/checkout.py=class Checkout:\n    def charge_card(self, token):\n        \"\"\"Charge the credit card.\"\"\"\n        return gateway.charge(token)\n",
	"web/session.ts=export function parseToken(raw: string): Token {\n  // the session token is checked here\n  return verify(raw)\n}\n",
	"web/session_test.ts=test('parseToken', () => { parseToken('session token checked') })\n",
	"docs/cart.md=# The cart\n\nThe total of the cart is computed when asked for.\n",
	"out/cart.go=package out\n\nfunc Total() {}\n", ".gitignore=out/\n", ".hidden/cart.go=package h\n\nfunc Total() {}\n", "bin=\x00cart total",
}

// walkFromService has calls made by tools that are told what changed.
func (b *bench) walkFromService() {
	b.Helper()
	user := ignore.User{}
	service := live.New(live.Options{User: &user})
	b.Cleanup(func() { b.Must(service.Close()) })
	if st, err := service.Ready(context.Background(), b.Dir); err != nil || !st.Ready {
		b.Fatalf("%+v, %v", st, err)
	}
	b.with(search.Options{User: &user, Live: service})
}

func TestSearchCode(t *testing.T) {
	t.Run("walking", func(t *testing.T) { searchShop(t, newBench(t, shop)) })
	t.Run("told", func(t *testing.T) {
		b := newBench(t, shop)
		for i := range 40 { // more than are read without a search
			b.put(fmt.Sprintf("much/f%d.txt=nothing of interest\n", i), 1)
		}
		b.walkFromService()
		if out, _ := b.code(args{"query": "cart"}); out.Searched != 46 {
			t.Errorf("%d searched", out.Searched)
		}
		b.Must(os.RemoveAll(filepath.Join(b.Dir, "much")))
		searchShop(t, b)
	})
}

func searchShop(t *testing.T, b *bench) {
	t.Helper()
	for query, want := range map[string]string{
		"where is the cart total computed":      "shop/cart.go:4 Total",
		"Cart.Total":                            "shop/cart.go:4 Total",
		"charge credit card":                    "shop/checkout.py:2 charge_card",
		"chargeCard":                            "shop/checkout.py:2 charge_card",
		"where is the session token checked":    "web/session.ts:1 parseToken",
		"parseToken":                            "web/session.ts:1 parseToken",
		"which class handles checkout?":         "shop/checkout.py:1 Checkout",
		"charging of cards":                     "shop/checkout.py:2 charge_card",
		strings.Repeat("cart ", 100) + " total": "shop/cart.go:4 Total",
	} {
		if out, res := b.code(args{"query": query}); first(out) != want || !out.Complete {
			t.Errorf("%s: %s, want %s\n%s", query, first(out), want, res.Content)
		}
	}
	out, res := b.code(args{"query": "where is the cart total computed"})
	b.says(res, "shop/cart.go:4: method Cart.Total  func (c *Cart) Total() int {\n")
	if strings.Contains(res.Content, "out/") || strings.Contains(res.Content, ".hidden") || out.Searched != 6 {
		t.Errorf("%d searched\n%s", out.Searched, res.Content)
	}
	if out, _ := b.code(args{"query": "total", "path": "docs"}); len(out.Lines) != 1 || out.Lines[0].Path != "docs/cart.md" || out.Lines[0].Line != 3 {
		t.Errorf("%+v", out)
	}
	if out, _ := b.code(args{"query": "total", "path": "shop/cart.go"}); first(out) != "shop/cart.go:4 Total" {
		t.Errorf("%+v", out)
	}
	if out, _ := b.code(args{"query": "cart total", "limit": 1}); len(out.Definitions)+len(out.Lines) != 1 || out.More == 0 {
		t.Errorf("%+v", out)
	}
	_, res = b.code(args{"query": "where is the zebra"})
	b.says(res, "[nothing has to do with zebra in . (6 files looked at); try other words, or grep for exact text]")
}

func TestSearchCodeBadCalls(t *testing.T) {
	b := newBench(t, []string{"a/f=x", "bin=\x00x"})
	for _, tt := range []struct {
		args args
		code tongs.Code
	}{
		{args{"query": ""}, tongs.CodeInvalidArgs},
		{args{"query": "? ! )("}, tongs.CodeInvalidArgs},
		{args{"query": "x", "limit": 0}, tongs.CodeInvalidArgs},
		{args{"query": strings.Repeat("x", 1001)}, tongs.CodeInvalidArgs},
		{args{"query": "word", "path": "nope"}, tongs.CodeFileNotFound},
		{args{"query": "word", "path": "../.."}, tongs.CodeInvalidPath},
		{args{"query": "word", "path": "/etc"}, tongs.CodeInvalidPath},
		{args{"query": "word", "path": "bin"}, tongs.CodeInvalidPath},
	} {
		raw, err := json.Marshal(tt.args)
		b.Must(err)
		if res := b.Engine.Call(context.Background(), &tongs.Call{Tool: "search_code", Args: raw}); res.OK() || res.Error.Code != tt.code {
			t.Errorf("%v: %v", tt.args, res.Error)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res := b.Engine.Call(ctx, &tongs.Call{Tool: "search_code", Args: json.RawMessage(`{"query":"word"}`)}); res.OK() || res.Error.Code != tongs.CodeCancelled {
		t.Errorf("%v", res.Error)
	}
}

// What changed is found as it is now, whatever the times of files say.
func TestSearchCodeIsNeverStale(t *testing.T) {
	for _, told := range []bool{false, true} {
		files := []string{"a.go=package a\n\nfunc alphaOne() {}\n", "b.go=package a\n"}
		for i := range 100 { // so many that those without the words are looked for by the index
			files = append(files, fmt.Sprintf("other%d.go=package a\n\nfunc other%d() {}\n", i, i))
		}
		b := newBench(t, files)
		if told {
			b.walkFromService()
		}
		changeAndSearch(t, b)
	}
}

func changeAndSearch(t *testing.T, b *bench) {
	t.Helper()
	query := func(q, want string) {
		t.Helper()
		if out, res := b.code(args{"query": q}); first(out) != want {
			t.Errorf("%s: %q, want %q\n%s", q, first(out), want, res.Content)
		}
	}
	query("alphaOne", "a.go:3 alphaOne")
	// What lacked the words has them now, for the same question.
	query("lateComer", "")
	b.put("b.go=package a\n\nfunc lateComer() {}\n", 0)
	query("lateComer", "b.go:3 lateComer")
	host := filepath.Join(b.Dir, "a.go")
	info, err := os.Stat(host)
	b.Must(err)
	// The same size, the same time, the same inode.
	b.Must(os.WriteFile(host, []byte("package a\n\nfunc gammaTwo() {}\n"), 0o644))
	b.Must(os.Chtimes(host, info.ModTime(), info.ModTime()))
	query("gammaTwo", "a.go:3 gammaTwo")
	query("alphaOne", "")
	b.Must(os.Rename(host, filepath.Join(b.Dir, "c.go")))
	query("gammaTwo", "c.go:3 gammaTwo")
	b.Must(os.Remove(filepath.Join(b.Dir, "c.go")))
	query("gammaTwo", "")
	b.put(".gitignore=b.go\n", 0)
	b.put("b.go=package a\n\nfunc betaThree() {}\n", 0)
	query("betaThree", "")
	b.Must(os.Remove(filepath.Join(b.Dir, ".gitignore")))
	query("betaThree", "b.go:3 betaThree")
	b.Must(os.Truncate(filepath.Join(b.Dir, "b.go"), 0))
	query("betaThree", "")
}

// What one call may see does not show in another, not by the words that both know.
func TestSearchCodeKeepsCallsApart(t *testing.T) {
	read := tongs.Kinds(tongs.EffectRead)
	b := newBench(t, []string{"private/vault.go=package p\n\nfunc openVault() {}\n", "public/a.go=package a\n\nfunc openDoor() {}\n", ".env=VAULT=1", "id_rsa=vault"})
	ruled := b.with(search.Options{User: &ignore.User{}})
	if out, _ := b.code(args{"query": "openVault"}); first(out) != "private/vault.go:3 openVault" {
		t.Errorf("%+v", out)
	}
	// The same tools, with what they know, by an engine that has a rule.
	ruled(tongs.Rule{Layer: tongs.LayerUser, Effects: read, Pattern: "private/**", Decision: tongs.Blocked})
	out, res := b.code(args{"query": "openVault"})
	if strings.Contains(res.Content, "vault.go") || strings.Contains(res.Content, "rsa") || out.Files > 1 {
		t.Errorf("%s", res.Content)
	}
	b.says(res, "left out: 1 file, 1 directory")
	if len(b.Asked()) > 0 {
		t.Error("somebody was asked")
	}
}

func TestSearchCodeFollowsNoLink(t *testing.T) {
	outside := t.TempDir()
	b := newBench(t, []string{"a.go=package a\n"})
	b.Must(os.WriteFile(filepath.Join(outside, "x.go"), []byte("package x\n\nfunc outsideThing() {}\n"), 0o600))
	b.Must(os.Symlink(outside, filepath.Join(b.Dir, "out")))
	b.Must(os.Symlink(filepath.Join(outside, "x.go"), filepath.Join(b.Dir, "x.go")))
	b.Must(os.Symlink(".", filepath.Join(b.Dir, "loop")))
	if out, res := b.code(args{"query": "outsideThing"}); len(out.Definitions)+len(out.Lines) > 0 {
		t.Error(res.Content)
	}
}

func TestSearchCodeStrangeFiles(t *testing.T) {
	b := newBench(t, []string{
		"long.js=var widget = '" + strings.Repeat("x", 500_000) + "'\n", "nest.go=package a\n\nvar widget = " + strings.Repeat("(", 200_000) + "1\n",
		"latin.py=def widget():\n    '''caf\xe9'''\n", "crlf.go=package a\r\n\r\nfunc widget() {}\r\n", "empty.go=", "new\nline.go=package a\n\nfunc widgetTwo() {}\n",
	})
	b.Must(os.WriteFile(filepath.Join(b.Dir, "big.go"), make([]byte, 2<<20), 0o644))
	out, res := b.code(args{"query": "widget"})
	b.says(res, "crlf.go:3: function widget  func widget() {}\n", "1 file is too large", `"new\nline.go":3: function widgetTwo`)
	if len(out.Definitions) < 4 || len(res.Content) > 10_000 {
		t.Errorf("%d definitions, %d bytes", len(out.Definitions), len(res.Content))
	}
}

func TestSearchCodeByMany(t *testing.T) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("d%d/f%d.go=package a\n\nfunc thing%c() {}\n", i%7, i, 'A'+i%26))
	}
	b := newBench(t, names)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			raw := fmt.Sprintf(`{"query":"thing%c"}`, 'A'+i%26)
			res := b.Engine.Call(context.Background(), &tongs.Call{Tool: "search_code", Args: json.RawMessage(raw)})
			out, err := tongs.ValueOf[search.CodeOutput](res)
			if err != nil || len(out.Definitions) == 0 || out.Definitions[0].Name != fmt.Sprintf("thing%c", 'A'+i%26) {
				t.Errorf("%s: %v %s", raw, err, res.Content)
			}
		})
	}
	wg.Go(func() {
		for i := range 100 {
			_ = os.WriteFile(filepath.Join(b.Dir, fmt.Sprintf("d0/f%d.go", i*7)), []byte("package a\n\nfunc thingA() {}\n"), 0o644)
		}
	})
	wg.Wait()
}

// Limits end a call with what was found until then, and say so.
func TestSearchCodeLimits(t *testing.T) {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("f%d.go=package a\n\nfunc thing%d() {}\n", i, i))
	}
	for _, opt := range []search.CodeOptions{{Time: time.Nanosecond}, {Bytes: 1}} {
		b := newBench(t, names)
		b.with(search.Options{User: &ignore.User{}, Code: opt})
		out, res := b.code(args{"query": "thing"})
		if out.Complete || out.Searched > 2 {
			t.Errorf("%+v: %d searched, complete %v", opt, out.Searched, out.Complete)
		}
		b.says(res, "not looked at within the limits of time and memory; the same call goes on")
	}
}

func TestSearchCodeConformance(t *testing.T) {
	list, err := search.Tools(search.Options{User: &ignore.User{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		if tool.Spec().Name == "search_code" {
			tooltest.Run(t, tool, tooltest.Options{
				Valid: []string{`{"query":"main"}`, `{"query":"where is main defined","path":"dir","limit":3}`, `{"query":"main","path":"a.go"}`},
				Files: map[string]string{"a.go": "package main\n\nfunc main() {}\n", "dir/b.go": "package b\n"},
			})
		}
	}
}
