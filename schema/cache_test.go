package schema

import (
	"encoding/json"
	"runtime"
	"testing"

	source "github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

func (c *cache) size() (n int) {
	c.entries.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}

// What was compiled goes when its schema does: tools that come and go leave nothing behind.
func TestCacheForgets(t *testing.T) {
	var v Validator
	check := func() {
		for range 10 {
			spec := &tongs.Spec{Name: "x", Input: &source.Schema{Type: "object"}}
			for range 2 {
				if _, err := v.Check(spec, json.RawMessage(`{}`)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	check()
	if n := v.cache.size(); n == 0 {
		t.Fatal("nothing was kept")
	}
	for range 10_000 {
		runtime.GC()
		if v.cache.size() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d are still kept", v.cache.size())
}
