package module_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// The examples of the founding document, letter by letter.
const (
	seedFunction = `// tools.ts
import { z } from 'zod';

/** Calculate the nth Fibonacci number */
export function calculateFibonacci({ n }: { n: number }): number {
  if (n <= 1) return n;
  let a = 0, b = 1;
  for (let i = 2; i <= n; i++) [a, b] = [b, a + b];
  return b;
}

// Schema must be exported with matching name + "Schema" suffix
// Uses z.object() directly - same pattern as built-in tools
export const calculateFibonacciSchema = z.object({
  n: z.number().int().min(0).describe('Position in sequence'),
});
`
	seedObject = `// tools.ts
import { z } from 'zod';
import type { NamedTool } from 'golem-forge';

export const calculateFibonacci: NamedTool = {
  name: 'calculateFibonacci',
  description: 'Calculate the nth Fibonacci number',
  inputSchema: z.object({
    n: z.number().int().min(0).describe('Position in sequence'),
  }),
  // Tool can define its own needsApproval
  needsApproval: false,
  execute: async ({ n }) => {
    if (n <= 1) return n;
    let a = 0, b = 1;
    for (let i = 2; i <= n; i++) [a, b] = [b, a + b];
    return b;
  },
};
`
	fibonacciPython = `def calculateFibonacci(n: int) -> int:
    """Calculate the nth Fibonacci number

    Args:
        n: Position in sequence
    """
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
`
	fibonacciGo = `package tools

import "errors"

// Position is what CalculateFibonacci takes.
type Position struct {
	N int ` + "`json:\"n\" jsonschema:\"Position in sequence\" min:\"0\"`" + `
}

// Calculate the nth Fibonacci number
func CalculateFibonacci(in Position) (int, error) {
	if in.N > 90 {
		return 0, errors.New("that is too far")
	}
	a, b := 0, 1
	for range in.N {
		a, b = b, a+b
	}
	return a, nil
}

const CalculateFibonacciNeedsApproval = false
`
)

func TestSeedExamples(t *testing.T) {
	for _, tt := range []struct {
		name, file, source string
		free               bool
	}{
		{"function and schema", "tools.ts", seedFunction, false},
		{"tool object", "tools.ts", seedObject, true},
		{"Python", "tools.py", fibonacciPython, false},
		{"Go", "tools.go", fibonacciGo, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, workbench.Options{}, tt.file, tt.source)
			b.zod()
			b.ready(tt.file, "calculateFibonacci")
			if got := b.value("calculateFibonacci", args{"n": 10}); got != "55" {
				t.Errorf("got %s", got)
			}
			if asked := len(b.Questions()); asked > 0 == tt.free {
				t.Errorf("asked %d times, free %t", asked, tt.free)
			}
			spec := b.spec("calculateFibonacci")
			contains(t, spec.Description, "Calculate the nth Fibonacci number")
			contains(t, schemaOf(t, spec), `"Position in sequence"`, `"integer"`)
			if spec.Source.Kind != tongs.SourceModule || spec.Source.Digest == "" || spec.Toolset != "custom" {
				t.Errorf("source %+v, toolset %s", spec.Source, spec.Toolset)
			}
			b.Fails(tongs.CodeInvalidArgs, "n", b.Call("calculateFibonacci", args{"n": "many"}))
		})
	}
}
