//go:build linux

package main

import (
	"os/exec"
	"testing"
	"time"
)

// What a client leaves ends with it, also what ignores that its terminal is gone and what that started.
func TestEndAll(t *testing.T) {
	if err := adopt(); err != nil {
		t.Fatal(err)
	}
	script := `(trap "" HUP TERM; (trap "" HUP TERM; sleep 600) & sleep 600) & :`
	if err := exec.Command("sh", "-c", script).Run(); err != nil || len(children()) == 0 {
		t.Fatalf("%v, %v were adopted", err, children())
	}
	endAll(10 * time.Millisecond)
	if left := children(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
