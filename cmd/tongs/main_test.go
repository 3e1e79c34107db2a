package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tongs-ai/tongs/internal/guard"
	"github.com/tongs-ai/tongs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testscript.Main(m, map[string]func(){"tongs": func() {
		if guard.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr) {
			return
		}
		os.Exit(testApp().main(os.Args[1:]))
	}})
}

// testApp is the command as tests run it: the administrator's file is where the test put it, and is the test's own, and the
// user database has the home that the test wants.
func testApp() *app {
	a := newApp()
	a.managed, a.managedOwner, a.home = os.Getenv("TEST_MANAGED"), os.Getuid(), os.Getenv("TEST_HOME")
	return a
}

// raceOptions keep a command that was built with the race detector from waiting a second before it exits.
const raceOptions = "atexit_sleep_ms=0"

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			for _, dir := range []string{home, filepath.Join(env.WorkDir, "etc"), filepath.Join(env.WorkDir, "ws")} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
			}
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv("TONGS_CONFIG_DIR", filepath.Join(home, "config"))
			env.Setenv("TONGS_STATE_DIR", filepath.Join(home, "state"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
			env.Setenv("TEST_HOME", home)
			env.Setenv("TEST_MANAGED", filepath.Join(env.WorkDir, "etc", "policy.yaml"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", raceOptions)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"trusted": trustFile, "escape": escapeFile, "approved": approveServers},
	})
}
