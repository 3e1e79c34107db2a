package jsonc

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What is appended can be dropped again, and everything else stays as it was.
func TestAppendAndDrop(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		`{"a":[1]}`:                      `{"a":[1, "x"]}`,
		"{\"a\": [\n  1, // one\n]}":     "{\"a\": [\n  1, // one\n  \"x\",\n]}",
		"{\"a\": [\n  1 // one\n]}":      "{\"a\": [\n  1, // one\n  \"x\"\n]}",
		"{\"a\": [\r\n\t{}\r\n]}":        "{\"a\": [\r\n\t{},\r\n\t\"x\"\r\n]}",
		`{"a": [1, /* two */ 2], "b":1}`: `{"a": [1, /* two */ 2, "x"], "b":1}`,
	} {
		got, err := Append([]byte(before), []string{"a"}, "x")
		if err != nil || string(got) != want {
			t.Errorf("%s became\n%s, want\n%s (%v)", before, got, want, err)
		}
		back, err := Drop(got, []string{"a"}, func(e json.RawMessage) bool { return string(e) == `"x"` })
		var a, b any
		if err != nil || Unmarshal(back, &a) != nil || Unmarshal([]byte(before), &b) != nil || !bytes.Contains(back, []byte("]")) {
			t.Fatalf("%s: %v", back, err)
		}
		if x, y := must(json.Marshal(a)), must(json.Marshal(b)); !bytes.Equal(x, y) {
			t.Errorf("%s is left of %s", back, before)
		}
		for _, comment := range []string{"// one", "/* two */"} {
			if bytes.Contains([]byte(before), []byte(comment)) && !bytes.Contains(back, []byte(comment)) {
				t.Errorf("%s lost %s", back, comment)
			}
		}
	}
	for _, text := range []string{`{"a":{}}`, `[]`, `{"a":[],"a":[]}`, `{`} {
		if out, err := Append([]byte(text), []string{"a"}, 1); err == nil {
			t.Errorf("%s became %s", text, out)
		}
	}
	fresh, err := Append(nil, []string{"a", "b"}, 1)
	if err != nil || !json.Valid(fresh) {
		t.Errorf("%s %v", fresh, err)
	}
}

func must(data []byte, _ error) []byte { return data }
