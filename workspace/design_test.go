package workspace

import (
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
)

// The tests of this file are named after rows of the design. Those of the list of protected names, of zones and of
// spellings are in names_test.go and resolve_test.go, whole.

func TestDesign4_StateOrConfigurationInsideTheWorkspaceIsRefused(t *testing.T) {
	base := tree(t, map[string]string{"ws/state/": "", "state/": ""})
	at := func(rel string) string { return filepath.Join(base, rel) }
	for _, private := range []string{at("ws/state"), at("ws/not/yet"), at("ws"), base} {
		_, err := Open(Options{Dir: at("ws"), Private: []string{private}, LockDir: t.TempDir()})
		wantCode(t, err, tongs.CodeConfigError, private)
	}
	w, err := Open(Options{Dir: at("ws"), Private: []string{at("state")}, LockDir: t.TempDir()})
	must(t, err)
	defer w.Close()
	_, err = w.Resolve(in("."), at("state/tongs.db"))
	wantCode(t, err, tongs.CodeInvalidPath, "outside the workspace")
}

func TestDesign9_WorkspaceRootOfTheEnvironmentIsTheCap(t *testing.T) {
	base := tree(t, map[string]string{"cap/ws/": "", "other/": ""})
	at := func(rel string) string { return filepath.Join(base, rel) }
	for _, dir := range []string{at("cap"), at("cap/ws"), at("other/../cap/ws")} {
		w, err := Open(Options{Dir: dir, Cap: at("cap"), LockDir: t.TempDir()})
		must(t, err)
		must(t, w.Close())
	}
	for _, dir := range []string{base, at("other"), at("cap/../other")} {
		_, err := Open(Options{Dir: dir, Cap: at("cap"), LockDir: t.TempDir()})
		wantCode(t, err, tongs.CodeConfigError, "AGENT_WORKSPACE_ROOT")
	}
}
