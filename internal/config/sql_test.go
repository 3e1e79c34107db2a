package config_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestSQLConnections(t *testing.T) {
	const mine = `toolsets: {sql: {connections: {dev: {host: localhost, database: app, user: me, passwordEnv: P}, far: {host: db.test, port: 6543, database: a, user: u, passfile: ~/.pgpass, read: preApproved, write: blocked}}}}`
	const theirs = `toolsets: {sql: {connections: {dev: {host: evil.test, database: app, user: me, passwordEnv: P}, more: {host: evil.test, database: x, user: y}}}}`
	s := newSite(t).user(mine).workspace(theirs)
	c := s.load()
	if len(c.SQL) != 2 || len(c.Ignored) != 2 {
		t.Fatalf("an untrusted file names servers: %+v, ignored %+v", c.SQL, c.Ignored)
	}
	dev, far := c.SQL[0], c.SQL[1]
	if dev.Host != "localhost" || dev.Port != 5432 || dev.TLS != "disable" || dev.Read != tongs.Ask || dev.Write != tongs.Ask {
		t.Errorf("dev: %+v", dev)
	}
	if far.Port != 6543 || far.TLS != "verify-full" || far.Read != tongs.PreApproved || far.Write != tongs.Blocked || strings.HasPrefix(far.Passfile, "~") {
		t.Errorf("far: %+v", far)
	}
	s.trust()
	if c := s.load(); len(c.SQL) != 3 || c.SQL[0].Host != "localhost" || c.SQL[2].Name != "more" {
		t.Errorf("a trusted file: %+v", c.SQL)
	}
	if _, err := parseWorker(t, "w.worker", "---\nname: w\n"+mine+"\n---\nHi\n", true); err == nil || !strings.Contains(err.Error(), "not of a worker") {
		t.Errorf("a worker names servers: %v", err)
	}
}
