package wire

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
)

func TestPasswordsOfConnections(t *testing.T) {
	t.Setenv("TONGS_TEST_PASSWORD", "from-env")
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("other:5432:*:*:no\ndb.test:5432:app:me:from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.SQLConnection{Name: "dev", Host: "db.test", Port: 5432, Database: "app", User: "me"}
	for want, with := range map[string]func(*config.SQLConnection){
		"":          func(*config.SQLConnection) {},
		"from-env":  func(c *config.SQLConnection) { c.PasswordEnv = "TONGS_TEST_PASSWORD" },
		"from-file": func(c *config.SQLConnection) { c.Passfile = file },
	} {
		own := c
		with(&own)
		if got, err := connection(own).Password(t.Context()); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	open := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(open, []byte("*:*:*:*:x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, with := range []func(*config.SQLConnection){
		func(c *config.SQLConnection) { c.PasswordEnv = "TONGS_TEST_UNSET" },
		func(c *config.SQLConnection) { c.Passfile = file + ".none" },
		func(c *config.SQLConnection) { c.Passfile = open },
	} {
		own := c
		with(&own)
		if got, err := connection(own).Password(t.Context()); tongs.CodeOf(err) != tongs.CodeConfigError {
			t.Errorf("%+v: %q, %v", own, got, err)
		}
	}
}
