package registry_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/registry"
)

func TestDesign9_ReRegisteringIsAnErrorAndReplacingExplicit(t *testing.T) {
	first := tongs.Lazy(tongs.Spec{Name: "same", Description: "First."}, nil)
	second := tongs.Lazy(tongs.Spec{Name: "same", Description: "Second."}, nil)
	r, err := registry.New(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Register(second); err == nil {
		t.Error("a name was taken twice")
	}
	if got, _ := r.Get("same"); got != first {
		t.Error("the first tool was replaced")
	}
	if err := r.Replace(second); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.Get("same"); got != second {
		t.Error("the tool was not replaced")
	}
}
