package mcpclient_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

func BenchmarkCall(b *testing.B) {
	d := newDesk(b, func(o *mcpclient.Options) { o.Servers[0].Tools = []string{"*"} })
	d.review(b)
	d.rules = append(d.rules, tongs.Rule{Tool: "srv__*", Decision: tongs.PreApproved, Layer: tongs.LayerUser})
	d.ok(b, "echo", "warm")
	for b.Loop() {
		d.ok(b, "echo", "hello")
	}
}

func BenchmarkTools(b *testing.B) {
	d := newDesk(b, func(o *mcpclient.Options) { o.Servers[0].Tools = []string{"*"} })
	d.review(b)
	for b.Loop() {
		if len(d.set.Tools()) == 0 {
			b.Fatal("no tools")
		}
	}
}
