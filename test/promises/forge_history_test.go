//go:build linux

package promises

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Versions are kept when they are approved or built. One that a person approved runs again after a rollback; one that nobody approved
// is asked about, and so is one whose copy was changed.
func Test001_FutureEnhancements_Versioning(t *testing.T) {
	p := newPlace(t)
	p.script("versioned", "echo one", "parameters: []\n")
	p.approveTool("versioned")
	p.says(p.ok("call", "versioned"), "one")
	p.put(p.tools("versioned", ".git", "HEAD"), "mine")

	p.put(p.tools("versioned", "versioned.sh"), "#!/bin/sh\necho two\n")
	p.put(p.tools("versioned", "lib", "more.txt"), "more")
	must(t, os.WriteFile(p.tools("versioned", "tool.yaml"), []byte(strings.Replace(p.get(p.tools("versioned", "tool.yaml")), "1.0.0", "2.0.0", 1)), 0o644))
	p.ok("forge", "rollback", "versioned")
	p.says(p.ok("call", "versioned"), "one")
	if _, err := os.Stat(p.tools("versioned", "lib", "more.txt")); err == nil || p.get(p.tools("versioned", ".git", "HEAD")) != "mine" {
		t.Errorf("the files of the other version are there, or what is no part of the tool is gone: %v", err)
	}

	history := p.ok("forge", "history", "versioned")
	p.says(history, "1.0.0", "2.0.0", "approved by", "current", "not approved")
	_, told, _ := p.run("forge", "rollback", "versioned", "2.0.0")
	p.says(told, "Nobody approved this version: tongs forge approve versioned")
	p.fails(3, []string{"APPROVAL_REQUIRED"}, "call", "versioned")
	p.approveChange("versioned")
	p.says(p.ok("call", "versioned"), "two")

	id := regexp.MustCompile(`(?m)^([0-9a-f]{12}) +1\.0\.0`).FindStringSubmatch(p.ok("forge", "history", "versioned"))
	if id == nil {
		t.Fatal("the first version is not kept")
	}
	copies, err := filepath.Glob(filepath.Join(p.home, "state", "forge", "programs", id[1]+"*", "versioned.sh"))
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	must(t, os.Chmod(copies[0], 0o700))
	p.put(copies[0], "#!/bin/sh\necho evil\n")
	p.fails(1, []string{"CONFIG_ERROR", "is not what it was"}, "forge", "rollback", "versioned", id[1])
	p.says(p.ok("call", "versioned"), "two")
	p.fails(2, []string{"no other version", id[1]}, "forge", "rollback", "versioned", "9.9.9")
}

// approveChange is a person who approves a custom tool that changed.
func (p *place) approveChange(name string) {
	p.Helper()
	p.approve(name, "forge", "approve", name)
}
