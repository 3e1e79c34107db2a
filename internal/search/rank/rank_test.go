package rank

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/symbols"
)

func doc(path, text string) *Document {
	return Read(path, []byte(text), symbols.In(path, []byte(text)))
}

func paths(r *Ranking) string {
	var list []string
	for _, f := range r.Files {
		list = append(list, f.Path)
	}
	return strings.Join(list, " ")
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"parseHTTPRequest_v2 sha256":   "parse http request sha 256",
		"HTTPServer":                   "http server",
		"a snake_case-kebab.dot x1":    "snake case kebab dot",
		"XMLHttp 1234567890 12":        "xml http 12",
		"Größe":                        "größe",
		strings.Repeat("x", 100):       "",
		"utf8.RuneSelf\x00\xff\xfe ok": "utf rune self \uFFFD\uFFFD ok",
	} {
		var got []string
		eachWord([]byte(text), nil, func(w []byte) { got = append(got, string(w)) })
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}

func TestStemsOfFormsAreTheSame(t *testing.T) {
	for _, forms := range []string{
		"compute computed computing computes", "resolve resolver resolved resolving", "directory directories", "stop stopped stopping stopper",
		"validate validation validator", "parse parser parsing parsed", "match matches matcher matched", "server servers", "iterate iterator iteration",
	} {
		list := strings.Fields(forms)
		for _, w := range list {
			s := stem(w)
			if !strings.HasPrefix(w, s) {
				t.Errorf("%s is no beginning of %s", s, w)
			}
			if s != stem(list[0]) && !strings.HasPrefix(s, stem(list[0])) {
				t.Errorf("%s and %s: %s and %s", list[0], w, stem(list[0]), s)
			}
		}
	}
}

func TestDefinitionsBeforeMentions(t *testing.T) {
	x := New()
	x.Add(doc("use.go", "package a\n\nfunc use() { closeDoor(); closeDoor(); closeDoor() }\n"))
	x.Add(doc("door.go", "package a\n\nfunc closeDoor() {}\n"))
	x.Add(doc("door_test.go", "package a\n\nfunc TestCloseDoor() { closeDoor() }\n"))
	x.Add(doc("other.go", "package a\n\nfunc open() {}\n"))
	if got := paths(x.Search(Parse("closeDoor"), Scope{})); !strings.HasPrefix(got, "door.go ") || strings.Contains(got, "other") {
		t.Error(got)
	}
	if got := paths(x.Search(Parse("where do we close the door?"), Scope{})); !strings.HasPrefix(got, "door.go ") {
		t.Error(got)
	}
}

// Words that stand for those of the query find what the query does not spell.
func TestWordsAlike(t *testing.T) {
	x := New()
	x.Add(doc("a.go", "package a\n\nfunc removeDir(name string) {}\n"))
	x.Add(doc("b.go", "package a\n\nfunc createFile(name string) {}\n"))
	if got := paths(x.Search(Parse("delete folder"), Scope{})); got != "a.go" {
		t.Error(got)
	}
}

func TestAddAndRemove(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	x := New()
	now := map[string]string{}
	words := strings.Fields("alpha beta gamma delta shutdown server parse token cart total")
	for i := range 6000 {
		path := fmt.Sprintf("d%d/f%d.go", random.IntN(5), random.IntN(40))
		if random.IntN(4) == 0 {
			x.Remove(path)
			delete(now, path)
		} else {
			text := fmt.Sprintf("package a\n\nfunc %s%s() {}\n", words[random.IntN(len(words))], strings.ToUpper(words[random.IntN(len(words))]))
			x.Add(doc(path, text))
			now[path] = text
		}
		if i%500 != 499 {
			continue
		}
		fresh := New()
		for _, p := range slices.Sorted(func(yield func(string) bool) {
			for p := range now {
				if !yield(p) {
					return
				}
			}
		}) {
			fresh.Add(doc(p, now[p]))
		}
		if x.Len() != len(now) || !reflect.DeepEqual(x.Paths(), fresh.Paths()) {
			t.Fatalf("%d files, want %d", x.Len(), len(now))
		}
		for _, q := range []string{"alpha server", "parse token", "cart total shutdown"} {
			a, b := x.Search(Parse(q), Scope{Limit: 100}), fresh.Search(Parse(q), Scope{Limit: 100})
			if paths(a) != paths(b) || a.Total != b.Total {
				t.Fatalf("%s after %d changes: %s\nwant %s", q, i, paths(a), paths(b))
			}
		}
		if i > 3000 && x.Size() > 20*fresh.Size() {
			t.Errorf("%d bytes, %d when fresh", x.Size(), fresh.Size())
		}
	}
}

// Files that are not visible leave no trace, and those that do not match the filter change nothing.
func TestScopeAndFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("Alpha beta GAMMA delta shutdown Server preserve parseToken remove_dir folder unlink tokenizer servant cartTotal deletion")
	all, visible := New(), New()
	texts := map[string]string{}
	for i := range 300 {
		var b strings.Builder
		b.WriteString("package a\n\n")
		for range random.IntN(8) {
			b.WriteString(words[random.IntN(len(words))] + [...]string{"", " ", "_", "."}[random.IntN(4)])
		}
		p := fmt.Sprintf("%s/f%d.go", words[random.IntN(len(words))], i)
		texts[p] = b.String()
		all.Add(doc(p, b.String()))
		if i%3 != 0 {
			visible.Add(doc(p, b.String()))
		}
	}
	for _, query := range []string{"server", "delete directory", "parse token", "shutdown the server", "cart", "function delta"} {
		q := Parse(query)
		want := visible.Search(q, Scope{Limit: 1000})
		got := all.Search(q, Scope{Limit: 1000, Visible: visible.Has})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s\nwant %s", query, paths(got), paths(want))
		}
		f, few := q.Filter(), New()
		others := 0
		for _, p := range visible.Paths() {
			if f.Match(p, []byte(texts[p])) {
				few.Add(doc(p, texts[p]))
			} else {
				others++
			}
		}
		r := few.Search(q, Scope{Limit: 1000, Others: others})
		if r.Total != want.Total || others == 0 && query != "server" {
			t.Errorf("%s: %d files, want %d; %d others", query, r.Total, want.Total, others)
		}
		for _, w := range want.Files {
			if !slices.ContainsFunc(r.Files, func(f File) bool { return f.Path == w.Path }) {
				t.Errorf("%s: the filter lost %s: %q", query, w.Path, texts[w.Path])
			}
		}
	}
}

func TestQueriesOfAnyKind(t *testing.T) {
	x := New()
	x.Add(doc("a.go", "package a\n\nfunc where() {}\n"))
	for _, q := range []string{"", "?", "the", "where is the", "a", "\xff\xfe", strings.Repeat("word ", 1000), "::..()", "x.y.z", "日本語"} {
		query := Parse(q)
		r := x.Search(query, Scope{})
		for _, f := range r.Files {
			r.Places(f, []byte("package a\n\nfunc where() {}\n"), nil)
		}
		if !query.Empty() {
			query.Filter().Match("a", nil)
		}
	}
	if got := paths(x.Search(Parse("where"), Scope{})); got != "a.go" { // the only word there is counts
		t.Error(got)
	}
}

func ExampleIndex_Search() {
	x := New()
	text := []byte("package shop\n\n// Total adds up the prices.\nfunc (c *Cart) Total() int {\n\treturn 0\n}\n")
	defs := symbols.In("shop/cart.go", text)
	x.Add(Read("shop/cart.go", text, defs))
	r := x.Search(Parse("where is the total of a cart computed?"), Scope{})
	for _, f := range r.Files {
		best := r.Places(f, text, defs)[0]
		fmt.Println(best.Path, best.Line, best.Definition.Kind, best.Definition.Name)
	}
	// Output: shop/cart.go 4 method Total
}

func BenchmarkRead(b *testing.B) {
	text := []byte(strings.Repeat("func (s *Server) handleRequest(ctx context.Context, req *Request) error {\n\treturn s.next.Serve(ctx, req)\n}\n", 100))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Read("a/server.go", text, nil)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := New()
	words := strings.Fields("alpha beta gamma delta shutdown server parse token cart total handle request response file path open close read write")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		var text strings.Builder
		for range 50 {
			text.WriteString(words[random.IntN(len(words))] + " ")
		}
		x.Add(doc(fmt.Sprintf("d%d/f%d.txt", i%100, i), text.String()))
	}
	q := Parse("server shutdown handle request")
	for b.Loop() {
		x.Search(q, Scope{})
	}
}
