//go:build linux

package promises

import (
	"os"
	"path/filepath"
	"testing"
)

// zod makes zod 4 importable in the workspace.
func (p *place) zod() {
	p.Helper()
	from, err := filepath.Abs("../../bin/npm/node_modules/zod")
	must(p.T, err)
	if _, err := os.Stat(filepath.Join(from, "package.json")); err != nil {
		p.Fatalf("these tests need zod: run test/scripts/needs (%v)", err)
	}
	must(p.T, os.MkdirAll(filepath.Join(p.work, "node_modules"), 0o755))
	must(p.T, os.Symlink(from, filepath.Join(p.work, "node_modules", "zod")))
}

func Test000_CustomTools_FunctionAndSchema(t *testing.T) {
	p := newPlace(t)
	p.zod()
	file := p.put("tools.ts", example(t, "000/function.ts"))
	p.config("toolsets:\n  custom:\n    module: " + file + "\n    tools: [calculateFibonacci]\n    approval: {default: preApproved}\n")
	p.approve("Calculate the nth", "module", "review", "tools.ts")
	if res := p.call("calculateFibonacci", map[string]any{"n": 10}); string(res.Value) != "55" {
		t.Errorf("the value is %s", res.Value)
	}
}
