package console

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// The file says what the routes are. "go test ./internal/console -run OpenAPI -update" writes it.
func TestOpenAPIFileIsTrue(t *testing.T) {
	st := newStand(t)
	s, err := New(Options{Engine: st.engine, Audit: st.db.Audit(), Questions: st.desk.Store})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	doc, err := openAPI(s.routes)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("openapi.json does not describe the routes; run 'go test ./internal/console -run OpenAPI -update'")
	}
}

// Every path of the file is served, and nothing else is under /api.
func TestOpenAPIPathsAreServed(t *testing.T) {
	s := newStand(t)
	for _, r := range s.server.routes {
		if !strings.HasPrefix(r.path, "/api/") || r.summary == "" {
			t.Errorf("%s %s is outside /api or has no summary", r.method, r.path)
		}
	}
	if res, _ := s.do("GET", "/api/nothing", nil, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown path: %d", res.StatusCode)
	}
}

// checkDescribed checks that an answer is what the OpenAPI file says of it.
func checkDescribed(t *testing.T, method, path string, body []byte) {
	t.Helper()
	if *update {
		return
	}
	file, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema *jsonschema.Schema `json:"schema"`
				} `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(file, &doc); err != nil {
		t.Fatal(err)
	}
	path, _, _ = strings.Cut(path, "?")
	var schema *jsonschema.Schema
	for described, operations := range doc.Paths {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(described), "[^/]+") + "$")
		if !pattern.MatchString(path) {
			continue
		}
		if op, ok := operations[strings.ToLower(method)]; ok {
			schema = op.Responses["200"].Content["application/json"].Schema
		}
	}
	if schema == nil {
		t.Fatalf("%s %s is not in openapi.json", method, path)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s %s: the answer is not what openapi.json says: %v", method, path, err)
	}
}
