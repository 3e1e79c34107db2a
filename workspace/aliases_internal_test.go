package workspace

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// TestAliasesByPlace compares what is found by place with what is found by looking at every alias.
func TestAliasesByPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	place := func() string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString("/" + []string{"a", "a b", "a.b", "b", "a-"}[r.IntN(5)])
		}
		return b.String()
	}
	for range 200 {
		var list []alias
		for range r.IntN(30) {
			to := place()
			list = append(list, alias{to: to, folded: to})
		}
		all := indexed(list)
		for range 30 {
			at := place()
			above, below := 0, false
			for _, a := range list {
				if hostpath.Within(a.folded, at) {
					above++
				} else {
					below = below || hostpath.Within(at, a.folded)
				}
			}
			if got := len(all.near(at, false)); got != above {
				t.Fatalf("%s: %d lead there or above, found %d", at, above, got)
			}
			if got := len(all.near(at, true)) > above; got != below {
				t.Fatalf("%s: below it %t, found %t", at, below, got)
			}
		}
	}
}
