package specs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/specs"
)

var update = flag.Bool("update", false, "write the golden files")

func sampleSpecs(t *testing.T) []*tongs.Spec {
	t.Helper()
	type edit struct {
		Old string `json:"oldString" jsonschema:"Text to find." minLength:"1"`
		New string `json:"newString" jsonschema:"Text to put."`
	}
	type in struct {
		Path  string            `json:"path" jsonschema:"The file." alias:"file_path" example:"src/a.go"`
		Limit int               `json:"limit" jsonschema:"Lines." min:"1" max:"2000" default:"100"`
		Mode  string            `json:"mode,omitempty" jsonschema:"How." enum:"text,base64"`
		Level int               `json:"level,omitempty" jsonschema:"How much." enum:"1,2"`
		URL   string            `json:"url,omitempty" jsonschema:"Where." format:"uri"`
		Edits []edit            `json:"edits,omitempty" jsonschema:"Changes." maxItems:"9"`
		Env   map[string]string `json:"env,omitempty" jsonschema:"Environment."`
		Free  any               `json:"free,omitempty"`
	}
	type out struct {
		Size int `json:"size"`
	}
	full, err := tongs.New(tongs.Def[in, out]{
		Spec: tongs.Spec{
			Name: "sample", Title: "Sample", Description: "Does things.", Aliases: []string{"smpl"}, Toolset: "things",
			Needs: tongs.Read, Optional: tongs.Write | tongs.Network, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, Idempotent: true},
		},
		Run: func(context.Context, *tongs.Env, in) (out, error) { return out{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := tongs.New(tongs.Def[struct{}, string]{
		Spec: tongs.Spec{Name: "bare", Description: "Takes nothing."},
		Run:  func(context.Context, *tongs.Env, struct{}) (string, error) { return "", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	remote := &tongs.Spec{
		Name: "remote", Description: "From elsewhere.", Source: tongs.Source{Kind: tongs.SourceMCP, Name: "server", Digest: "d"},
		Input: &jsonschema.Schema{},
	}
	if err := json.Unmarshal([]byte(`{"type":"object","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}},
		"properties":{"tree":{"$ref":"#/$defs/node","description":"A tree."},"maybe":{"type":["string","null"]},"pick":{"oneOf":[
		{"type":"integer","format":"int32"},{"const":"all"}]},"many":{"type":["string","integer"]},"list":{"type":"array"},
		"when":{"type":"string","format":"date-time"}},"required":["tree"]}`), remote.Input); err != nil {
		t.Fatal(err)
	}
	return []*tongs.Spec{full.Spec(), bare.Spec(), remote, {Name: "lazy", Description: "Not made yet."}}
}

func TestFormat(t *testing.T) {
	list := sampleSpecs(t)
	for _, format := range specs.Formats() {
		t.Run(format, func(t *testing.T) {
			value, err := specs.Format(format, list)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(value, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			file := filepath.Join("testdata", format+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs (run with -update to accept):\n%s", file, got)
			}
		})
	}
	if _, err := specs.Format("xml", list); err == nil || !strings.Contains(err.Error(), "json, openai") {
		t.Errorf("got %v", err)
	}
	for _, format := range specs.Formats() {
		value, err := specs.Format(format, nil)
		text, _ := json.Marshal(value)
		if err != nil || !strings.HasPrefix(string(text), "[") {
			t.Errorf("%s of no tools is %s, %v", format, text, err)
		}
	}
}

// References that fan out are cut instead of filling the memory.
func TestGeminiFansOut(t *testing.T) {
	properties := make([]string, 20)
	for i := range properties {
		properties[i] = `"p` + string(rune('a'+i)) + `":{"$ref":"#/$defs/n"}`
	}
	n := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
	spec := &tongs.Spec{Name: "fan", Description: "Fans out.", Input: &jsonschema.Schema{}}
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":`+n+`}}`), spec.Input); err != nil {
		t.Fatal(err)
	}
	value, err := specs.Format("gemini", []*tongs.Spec{spec})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(value); err != nil || len(text) > 200_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
