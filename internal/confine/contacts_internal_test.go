package confine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// A program that connects to hundreds of hosts does not make a question that nobody reads to its end.
func TestAttackManyHosts(t *testing.T) {
	var c contacts
	for i := range 1000 {
		c.ask(tongs.Effect{Kind: tongs.EffectNetwork, Host: fmt.Sprintf("h%d.example", i)})
	}
	c.ask(tongs.Effect{Kind: tongs.EffectNetwork, Host: "h0.example", Private: true})
	list := c.undecided()
	if len(list) != maxAsked || !list[0].Private {
		t.Errorf("%d hosts: %+v", len(list), list[0])
	}
	const want = "968 more hosts were out of reach; a question names 32 at most"
	if reason, told := c.reason(), c.refused(); !strings.Contains(reason, want) || len(told) != 1 || !strings.Contains(told[0], want) {
		t.Errorf("what was left out is not told: %q, %q", reason, told)
	}
}
