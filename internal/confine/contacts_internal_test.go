package confine

import (
	"fmt"
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
}
