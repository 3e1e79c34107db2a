package jsonc_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/jsonc"
)

var entry = map[string]any{"command": "tongs", "args": []string{"mcp"}}

func TestSetAndRemove(t *testing.T) {
	for name, tt := range map[string]struct{ before, want string }{
		"empty file":   {"", "{\n  \"s\": {\n    \"tongs\": 1\n  }\n}\n"},
		"empty object": {"{}\n", "{\n  \"s\": {\n    \"tongs\": 1\n  }\n}\n"},
		"other keys":   {"{\n    \"a\": [1, 2]\n}\n", "{\n    \"a\": [1, 2],\n    \"s\": {\n        \"tongs\": 1\n    }\n}\n"},
		"others":       {"{\n\t\"s\": {\n\t\t\"x\": {}\n\t}\n}", "{\n\t\"s\": {\n\t\t\"x\": {},\n\t\t\"tongs\": 1\n\t}\n}"},
		"comments": {
			"// mine\n{\n  \"s\": {\n    // the first\n    \"x\": {} // done, really\n    /* , } */\n  }\n}\n",
			"// mine\n{\n  \"s\": {\n    // the first\n    \"x\": {}, // done, really\n    \"tongs\": 1\n    /* , } */\n  }\n}\n",
		},
		"comma at the end": {"{\n  \"s\": {\n    \"x\": {},\n  },\n}\n", "{\n  \"s\": {\n    \"x\": {},\n    \"tongs\": 1,\n  },\n}\n"},
		"one line":         {`{"s": {"x": "}"}}`, `{"s": {"x": "}", "tongs": 1}}`},
		"crlf":             {"{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"s\": {\r\n    \"tongs\": 1\r\n  }\r\n}\r\n"},
	} {
		got, err := jsonc.Set([]byte(tt.before), []string{"s", "tongs"}, 1)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, tt.want)
			continue
		}
		back, found, err := jsonc.Remove(got, []string{"s", "tongs"})
		if err != nil || !found {
			t.Errorf("%s: %v %v", name, found, err)
		}
		if strings.Contains(tt.before, `"s"`) && string(back) != tt.before {
			t.Errorf("%s: removed\n%s\nwant\n%s", name, back, tt.before)
		}
	}
	again, err := jsonc.Set([]byte("{\n  \"s\": {\n    \"tongs\": {\"old\": true}, // kept\n    \"y\": 2\n  }\n}\n"), []string{"s", "tongs"}, 3)
	if want := "{\n  \"s\": {\n    \"tongs\": 3, // kept\n    \"y\": 2\n  }\n}\n"; err != nil || string(again) != want {
		t.Errorf("%v\n%s", err, again)
	}
	first, _, _ := jsonc.Remove(again, []string{"s", "tongs"})
	if want := "{\n  \"s\": { // kept\n    \"y\": 2\n  }\n}\n"; string(first) != want {
		t.Errorf("%q", first)
	}
	for _, bad := range []string{"[]", `{"s": 1}`, `{"s": `, "null", `{"s" 1}`, `{"s":{},"s":{}}`, `{"s":{"tongs":1,"tongs":2}}`} {
		if got, err := jsonc.Set([]byte(bad), []string{"s", "tongs"}, 1); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
	if same, found, err := jsonc.Remove([]byte(`{"a": 1}`), []string{"s", "tongs"}); found || err != nil || string(same) != `{"a": 1}` {
		t.Errorf("%s %v %v", same, found, err)
	}
}

// Whatever the text is: an edit is valid again, has the value, and nothing else changed.
func FuzzSet(f *testing.F) {
	for _, s := range []string{"{}", `{"s":{"x":1,},}`, "{ // c\n\"s\": {/*,*/}\n}", `{"a":[1,{"s":"}"}],"s":{"tongs":[]}}`, "{\"s\":{\"x\":1 //,\n}}", "", `{"s":{},"s":{},}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var before map[string]any
		if strings.TrimSpace(s) != "" && jsonc.Unmarshal([]byte(s), &before) != nil {
			return
		}
		got, err := jsonc.Set([]byte(s), []string{"s", "tongs"}, entry)
		if err != nil {
			return
		}
		var after map[string]any
		if err := jsonc.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", s, got, err)
		}
		servers, _ := after["s"].(map[string]any)
		want, _ := json.Marshal(entry)
		if has, _ := json.Marshal(servers["tongs"]); string(has) != string(want) {
			t.Fatalf("%q became %q", s, got)
		}
		back, found, err := jsonc.Remove(got, []string{"s", "tongs"})
		if err != nil || !found {
			t.Fatalf("%q: %v %v", got, found, err)
		}
		var removed map[string]any
		if err := jsonc.Unmarshal(back, &removed); err != nil {
			t.Fatalf("%q became %q: %v", got, back, err)
		}
		drop := func(m map[string]any) map[string]any {
			if m == nil {
				m = map[string]any{}
			}
			inner, _ := m["s"].(map[string]any)
			delete(inner, "tongs")
			if len(inner) == 0 {
				delete(m, "s")
			}
			return m
		}
		if a, b := drop(before), drop(removed); !reflect.DeepEqual(a, b) {
			t.Fatalf("%q became %q", s, back)
		}
	})
}

// A comment is nobody's but the person's: no edit takes one away, or makes one of what was none.
func TestCommentsSurvive(t *testing.T) {
	for _, before := range []string{
		"\xef\xbb\xbf{\n  // 1\n  \"s\": {\n    // 2\n    \"tongs\": 1, // 3\n    // 4\n    \"y\": 2 // 5\n  } // 6\n} // 7",
		"{\"s\": {\"x\": 1 /* 1 */, // 2\n\"tongs\": 1 /* 3 */, \"y\": 2 /* 4\n5 */}}",
		"{\"s\": {\n  \"x\": 1, // 1\n  \"tongs\": 1 // 2\n  /* 3\n  4 */\n}}",
		"{\"s\": { // 1\n  \"tongs\": 1, /* 2 */ \"x\": 1, }, /* 3 */ }",
	} {
		set, err := jsonc.Set([]byte(before), []string{"s", "tongs"}, entry)
		if err != nil {
			t.Errorf("%s: %v", before, err)
			continue
		}
		added, err := jsonc.Set(set, []string{"s", "more"}, 1)
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		removed, found, err := jsonc.Remove(added, []string{"s", "tongs"})
		if err != nil || !found {
			t.Errorf("%s: %v, %v", added, found, err)
			continue
		}
		for _, after := range [][]byte{set, added, removed} {
			if got, want := comments(string(after)), comments(before); got != want {
				t.Errorf("%s\nbecame\n%s\nwith %s, want %s", before, after, got, want)
			}
			if strings.HasPrefix(before, "\xef") != strings.HasPrefix(string(after), "\xef") {
				t.Errorf("the byte order mark of %q became that of %q", before, after)
			}
		}
	}
}

// comments are those of a text in which nothing else has a slash.
func comments(text string) string {
	return strings.Join(regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`).FindAllString(text, -1), " ")
}

func TestTooDeep(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 1<<20)
	if _, err := jsonc.Set([]byte(deep), []string{"s"}, 1); err == nil {
		t.Error("a million open objects are a file")
	}
}
