package engine

import (
	"context"
	"errors"
	"testing"
)

// A life is a context like any other: what is made of it ends with it, whether it was made before or after.
func TestLifeIsAContext(t *testing.T) {
	l := &life{Context: t.Context()}
	before, stop := context.WithCancel(l)
	defer stop()
	if l.Err() != nil || before.Err() != nil {
		t.Fatal("it ended by itself")
	}
	l.end()
	l.end()
	<-before.Done()
	after, stop := context.WithCancel(l)
	defer stop()
	<-after.Done()
	late := &life{Context: t.Context()}
	late.end()
	<-late.Done()
	for _, ctx := range []context.Context{l, before, after} {
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("%v", ctx.Err())
		}
	}
}
