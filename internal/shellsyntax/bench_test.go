package shellsyntax_test

import (
	"testing"

	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

func BenchmarkAnalyse(b *testing.B) {
	s := newSite(b)
	for name, src := range map[string]string{
		"simple":   "git status",
		"pipeline": "git log --oneline | grep -v fix | head -3",
		"typical":  `cd src && grep -rn "TODO" . --include='*.go' | sort | uniq -c | head -20`,
		"script": `set -euo pipefail
for f in ./src/*.go; do
  if [ -f "$f" ]; then wc -l "$f"; else echo "none: $f"; fi
done
n=$(git log --oneline | wc -l)
echo "$((n + 1)) commits" > /dev/null`,
		"nested": `timeout 60 env CI=1 bash -c 'cd src && go test ./... 2>&1 | tail -20'`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := shellsyntax.Analyse(src, s.world, shellsyntax.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
