package module_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// torture are values that arguments have to survive.
func torture() []any {
	return []any{
		"", " ", "  two  ", "a", "plain text", "'", "\"", "'single'", "\"double\"", "`back`", "\\", "\\\\", "\\n", "a\nb", "a\r\nb", "\n", "\t", "a\tb",
		"--x", "-", "--", "--name=value", "=", "a=b", "=a", "$HOME", "${HOME}", "$(id)", "`id`", "%s%n", "{}", "[]", "null", "true", "1", "1.0", "-1", "0x10",
		"é", "e\u0301", "日本語", "🙂", "👩‍👩‍👧", "\u202eabc", "\ufeffbom", "\u0000nul", "\u0001\u001f\u007f", "\u2028\u2029", "</script>", "a;b|c&d>e<f",
		"*?[a]", "~/x", "../../etc/passwd", strings.Repeat("x", 64<<10), strings.Repeat("ü🙂\n\"", 8<<10),
		float64(1 << 53), -float64(1 << 53), float64(0), float64(-1), 0.1, 1e-7, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64, true, false, nil,
		[]any{},
		map[string]any{},
		[]any{[]any{[]any{"deep", []any{}}}, float64(1)},
		map[string]any{"": map[string]any{"a b": []any{nil, true, "--x"}}},
	}
}

const (
	lookTS = `import { z } from 'zod';
import { createHash } from 'node:crypto';
const sum = (v: unknown) => typeof v === 'string' ? createHash('sha256').update(v, 'utf8').digest('hex') : '';
export function look({ v }: { v: unknown }) { return { v, sum: sum(v) }; }
export const lookSchema = z.object({ v: z.any() });
`
	lookJS = `const { createHash } = require('node:crypto');
exports.look = {
  description: 'Looks.', inputSchema: { jsonSchema: { type: 'object', properties: { v: {} } } }, needsApproval: false,
  execute: async ({ v }) => ({ v, sum: typeof v === 'string' ? createHash('sha256').update(v, 'utf8').digest('hex') : '' }),
};
`
	lookPython = `import hashlib
from typing import Any

def look(v: Any):
    """Looks."""
    return {"v": v, "sum": hashlib.sha256(v.encode()).hexdigest() if isinstance(v, str) else ""}
`
	lookGo = `package main

import (
	"crypto/sha256"
	"encoding/hex"
)

type Args struct { V any ` + "`json:\"v\"`" + ` }

type Seen struct {
	V   any    ` + "`json:\"v\"`" + `
	Sum string ` + "`json:\"sum\"`" + `
}

// Looks.
func Look(in Args) Seen {
	seen := Seen{V: in.V}
	if s, ok := in.V.(string); ok {
		sum := sha256.Sum256([]byte(s))
		seen.Sum = hex.EncodeToString(sum[:])
	}
	return seen
}
`
)

// looking are modules in every language that say what they were given.
var looking = []struct{ file, source string }{{"look.ts", lookTS}, {"look.cjs", lookJS}, {"look.py", lookPython}, {"look.go", lookGo}}

// Every value arrives as it was sent, in every language: strings byte by byte.
func TestArgumentsArriveExactly(t *testing.T) {
	for _, m := range looking {
		t.Run(m.file, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, m.file, m.source)
			b.zod()
			b.ready(m.file, "look")
			for _, v := range torture() {
				raw, err := json.Marshal(map[string]any{"v": v})
				b.Must(err)
				res := b.Engine.Call(context.Background(), &tongs.Call{Tool: "look", Args: raw})
				if !res.OK() {
					t.Errorf("%.60q: %v", raw, res.Error)
					continue
				}
				var got struct {
					V   any    `json:"v"`
					Sum string `json:"sum"`
				}
				b.Must(json.NewDecoder(bytes.NewReader(res.Value)).Decode(&got))
				want := ""
				if s, ok := v.(string); ok {
					sum := sha256.Sum256([]byte(s))
					want = hex.EncodeToString(sum[:])
				}
				if !reflect.DeepEqual(got.V, v) || got.Sum != want {
					t.Errorf("sent %.100q, got %.100q", raw, res.Value)
				}
			}
		})
	}
}
