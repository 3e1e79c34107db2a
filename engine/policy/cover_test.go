package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func TestProposeIsTheNarrowestCover(t *testing.T) {
	versioned := run("./build.sh --fast")
	versioned.Version = "sha256:ab"
	for _, c := range []struct {
		effect tongs.Effect
		want   string
		others []tongs.Effect
	}{
		{write("src/a.go"), "write src/a.go", effects(write("src/b.go"), read("src/a.go"), write("src"))},
		{read("."), "read .", effects(write("a"))},
		{write("app/[id]*.ts"), `write app/\[id\]\*.ts`, effects(write("app/i.ts"), write("app/[id]x.ts"))},
		{write("{a,b}"), `write \{a,b\}`, effects(write("a"))},
		{write(policy.UnknownPattern), `write \(unknown)`, effects(unknown(tongs.EffectWrite))},
		{write("a b"), "write a b", effects(write("a"))},
		{write("a\nb"), `write "a\nb"`, effects(write("a"))},
		{write(`"a"`), `write "\"a\""`, effects(write("a"))},
		{write(" a "), `write " a "`, effects(write("a"))},
		{tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Root: "cache", Rel: "a"}}, "write /cache/a", effects(write("cache/a"))},
		{run("git push origin main"), "execute = git push origin main", effects(run("git push origin main -f"), run("git push"))},
		{versioned, "execute @sha256:ab = ./build.sh --fast", effects(run("./build.sh --fast"))},
		{
			tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{"echo", "a b", "*", "it's", "", "=", "@x", "\x1b[2J", "\xff", "@\x1b[2J", "@it's"}},
			`execute = echo 'a b' '*' "it's" '' '=' '@x' "\x1b[2J" "\xff" "@\x1b[2J" "@it's"`, effects(run("echo a b x")),
		},
		{get("api.example.com"), "network api.example.com", effects(get("example.com"), get("api.example.com:8080"), post("api.example.com"))},
		{get("[::1]:8080"), "network [::1]:8080", effects(get("::1"))},
		{unknown(tongs.EffectExecute), "execute (unknown)", effects(run("x"), unknown(tongs.EffectWrite))},
	} {
		covers := policy.Propose(effects(c.effect))
		if len(covers) != 1 || covers[0].String() != c.want {
			t.Errorf("%v: proposed %v, want %q", c.effect, covers, c.want)
			continue
		}
		if !covers[0].Covers(c.effect) {
			t.Errorf("%s does not cover %v", covers[0], c.effect)
		}
		for _, o := range c.others {
			if covers[0].Covers(o) {
				t.Errorf("%s covers %v", covers[0], o)
			}
		}
		back, err := policy.ParseCover(c.want)
		if err != nil || back != covers[0] {
			t.Errorf("%s reads back as %+v, %v; want %+v", c.want, back, err, covers[0])
		}
	}
}

func TestProposeNothingWhereOneCannotBeCovered(t *testing.T) {
	must, none := write("a"), write("a")
	must.MustAsk, none.NoGrant = true, true
	for _, e := range effects(must, none, remove("a"), post("example.com"), tongs.Effect{}, tongs.Effect{Kind: tongs.EffectExecute},
		get("bad host"), get("*"), write("a\xff[")) {
		if got := policy.Propose(effects(write("b"), e)); got != nil {
			t.Errorf("%v: proposed %v", e, got)
		}
	}
	if (policy.Cover{Kind: tongs.EffectDelete, Pattern: "a"}).Covers(tongs.Effect{Kind: tongs.EffectDelete, Path: tongs.Path{Rel: "a"}}) {
		t.Error("a delete is covered")
	}
	if got := policy.Propose(effects(write("b"), write("b"))); len(got) != 1 {
		t.Errorf("the same twice: %v", got)
	}
}

func TestParseCoverOfAPerson(t *testing.T) {
	for text, want := range map[string]policy.Cover{
		"write src/**":              {Kind: tongs.EffectWrite, Pattern: "src/**"},
		"  write   src/** ":         {Kind: tongs.EffectWrite, Pattern: "src/**"},
		"write **":                  {Kind: tongs.EffectWrite, Pattern: "**"},
		"read /cache/**":            {Kind: tongs.EffectRead, Pattern: "/cache/**"},
		"execute git  push":         {Kind: tongs.EffectExecute, Pattern: "git push"},
		"execute git push *":        {Kind: tongs.EffectExecute, Pattern: "git push *"},
		"execute @v1 ./x":           {Kind: tongs.EffectExecute, Pattern: "./x", Version: "v1"},
		`execute @"a b" ./x`:        {Kind: tongs.EffectExecute, Pattern: "./x", Version: "a b"},
		"execute @v1 (unknown)":     {Kind: tongs.EffectExecute, Pattern: "(unknown)", Version: "v1"},
		"network *.example.com":     {Kind: tongs.EffectNetwork, Pattern: "*.example.com"},
		"network *.example.com:443": {Kind: tongs.EffectNetwork, Pattern: "*.example.com:443"},
	} {
		got, err := policy.ParseCover(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, wrong := range map[string]string{
		"":                  "begin with what it covers",
		"everything":        "begin with what it covers",
		"write":             "names nothing",
		"write a[":          "glob",
		"write ../x":        "no",
		`write "x`:          "quotes",
		"write /**":         "every zone",
		"write /*/x":        "every zone",
		"delete a":          "each time",
		"execute":           "is empty",
		"execute *":         "more than one program",
		"execute **":        "more than one program",
		"execute = *":       "more than one program",
		"execute g* push":   "more than one program",
		"execute 'g'* push": "more than one program",
		"execute @v1":       "needs a command",
		"execute @ x":       "version is empty",
		`execute @"v x`:     "not closed",
		"execute git 'x":    "not closed",
		"network *":         "anybody",
		"network *:443":     "anybody",
		"network *:*":       "anybody",
		"network *.com":     "anybody",
		"network **":        "a * can stand only",
		"network http://x":  "URL",
		"network":           "names nothing",
	} {
		if c, err := policy.ParseCover(text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %+v, %v; want %q", text, c, err, wrong)
		}
	}
}

func TestCoverSurvivesJSON(t *testing.T) {
	e := tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{"x", "\xff", "\u202e"}, Version: "v"}
	g := policy.Grant{ID: "g", Covers: policy.Propose(effects(e))}
	data, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var back policy.Grant
	if err := json.Unmarshal(data, &back); err != nil || !back.Covering(e) {
		t.Errorf("%s: %v", data, err)
	}
}

func TestMemoryBook(t *testing.T) {
	ctx := context.Background()
	book := policy.NewMemoryBook()
	key := policy.Key{Tool: "edit", Roots: "r", Agents: []string{"a"}}
	grant := func(id string, f func(*policy.Grant)) policy.Grant {
		g := policy.Grant{
			ID: id, Scope: policy.ScopeAlways, Key: key, RulesDigest: "d", At: time.Unix(1, 0),
			Covers: []policy.Cover{{Kind: tongs.EffectWrite, Pattern: "a"}},
		}
		g.Key.Agents = slices.Clone(key.Agents)
		if f != nil {
			f(&g)
		}
		return g
	}
	session := grant("g_2", func(g *policy.Grant) { g.Scope, g.Key.Session, g.At = policy.ScopeSession, "s", time.Unix(2, 0) })
	first := grant("g_1", nil)
	for _, g := range []policy.Grant{first, session} {
		if err := book.Add(ctx, g); err != nil {
			t.Fatal(err)
		}
	}
	first.Covers[0].Pattern, first.Key.Agents[0] = "b", "b" // the book has its own copy
	if got := ids(book.Find(ctx, key)); got != "g_1" {
		t.Errorf("without a session: %s", got)
	}
	inSession := key
	inSession.Session = "s"
	if got := ids(book.Find(ctx, inSession)); got != "g_1,g_2" {
		t.Errorf("in the session: %s", got)
	}
	found, _ := book.Find(ctx, inSession)
	found[0].Covers[0].Pattern = "**"
	if again, _ := book.Find(ctx, inSession); again[0].Covers[0].Pattern != "a" {
		t.Error("a found grant shares memory with the book")
	}
	if got := ids(book.List(ctx)); got != "g_2,g_1" {
		t.Errorf("list: %s", got)
	}
	for name, g := range map[string]policy.Grant{
		"twice":    grant("g_1", nil),
		"no id":    grant("", nil),
		"scope":    grant("x", func(g *policy.Grant) { g.Scope = "once" }),
		"session":  grant("x", func(g *policy.Grant) { g.Scope = policy.ScopeSession }),
		"always":   grant("x", func(g *policy.Grant) { g.Key.Session = "s" }),
		"tool":     grant("x", func(g *policy.Grant) { g.Key.Tool = "" }),
		"digest":   grant("x", func(g *policy.Grant) { g.Key.Source.Kind = tongs.SourceMCP }),
		"rules":    grant("x", func(g *policy.Grant) { g.RulesDigest = "" }),
		"nothing":  grant("x", func(g *policy.Grant) { g.Covers = nil }),
		"too wide": grant("x", func(g *policy.Grant) { g.Covers = []policy.Cover{{Kind: tongs.EffectExecute, Pattern: "*"}} }),
	} {
		if err := book.Add(ctx, g); err == nil {
			t.Errorf("%s: added", name)
		}
	}
	if ok, err := book.Revoke(ctx, "g_1"); !ok || err != nil {
		t.Errorf("revoke: %v, %v", ok, err)
	}
	if ok, _ := book.Revoke(ctx, "g_1"); ok {
		t.Error("revoked twice")
	}
	if got := ids(book.List(ctx)); got != "g_2" {
		t.Errorf("list: %s", got)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := book.Find(done, key); err == nil {
		t.Error("found after the end")
	}
}

func ids(grants []policy.Grant, err error) string {
	list := make([]string, len(grants))
	for i, g := range grants {
		list[i] = g.ID
	}
	if err != nil {
		list = append(list, err.Error())
	}
	return strings.Join(list, ",")
}

func TestMemoryBookConcurrently(t *testing.T) {
	ctx := context.Background()
	book := policy.NewMemoryBook()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				g := policy.Grant{
					ID: fmt.Sprintf("g_%d_%d", w, i), Scope: policy.ScopeAlways, Key: policy.Key{Tool: "edit"}, RulesDigest: "d",
					Covers: []policy.Cover{{Kind: tongs.EffectWrite, Pattern: "a"}},
				}
				if err := book.Add(ctx, g); err != nil {
					t.Error(err)
				}
				if found, err := book.Find(ctx, g.Key); err != nil || len(found) == 0 {
					t.Errorf("%d found, %v", len(found), err)
				}
				if i%2 == 0 {
					if ok, err := book.Revoke(ctx, g.ID); !ok || err != nil {
						t.Errorf("revoke: %v, %v", ok, err)
					}
				}
			}
		})
	}
	wg.Wait()
	if list, err := book.List(ctx); err != nil || len(list) != 8*25 {
		t.Errorf("%d grants left, %v", len(list), err)
	}
}

func TestProposeFilesCoversEveryFileOfTheWorkspace(t *testing.T) {
	covers := policy.ProposeFiles(effects(read("src/a.go"), write("src/a.go"), write("b.go")))
	if len(covers) != 2 || covers[0].String() != "read **" || covers[1].String() != "write **" {
		t.Fatalf("%v", covers)
	}
	secret, steers := write("c"), write("AGENTS.md")
	secret.MustAsk, steers.Steers = true, true
	zone := tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Root: "cache", Rel: "a"}}
	for _, e := range effects(secret, remove("a"), zone, run("ls"), get("example.com"), unknown(tongs.EffectWrite)) {
		if covers[1].Covers(e) {
			t.Errorf("%v is covered by %v", e, covers[1])
		}
	}
	for _, e := range effects(secret, steers, remove("a"), zone, run("ls"), get("example.com"), unknown(tongs.EffectWrite)) {
		if got := policy.ProposeFiles(effects(write("b"), e)); got != nil {
			t.Errorf("%v: proposed %v", e, got)
		}
	}
}

// A cover of a private address is spelled apart, names the host in full, and covers the host elsewhere too; one without it does
// not cover the private address.
func TestCoverOfAPrivateAddress(t *testing.T) {
	public := tongs.Effect{Kind: tongs.EffectNetwork, Host: "mirror.example:8081"}
	private := public
	private.Private = true
	covers := policy.Propose([]tongs.Effect{private})
	if len(covers) != 1 || covers[0].String() != "network mirror.example:8081 (private address)" {
		t.Fatalf("proposed %v", covers)
	}
	again, err := policy.ParseCover(covers[0].String())
	if err != nil || again != covers[0] || !again.Covers(private) || !again.Covers(public) {
		t.Errorf("read back %+v, %v", again, err)
	}
	if c := policy.Propose([]tongs.Effect{public})[0]; c.Covers(private) || !c.Covers(public) {
		t.Errorf("%s covers the private address", c)
	}
	if c, err := policy.ParseCover("write a (private address)"); err != nil || c.Pattern != "a (private address)" || c.Private {
		t.Errorf("a file of that name is %+v, %v", c, err)
	}
	for _, text := range []string{"network *.example (private address)", "network (private address)"} {
		if c, err := policy.ParseCover(text); err == nil && c.Private {
			t.Errorf("%q is %+v", text, c)
		}
	}
}
