package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"

	"github.com/tongs-ai/tongs"
)

// SQLConnection is a PostgreSQL server that sql_query can be told to use, by its name.
type SQLConnection struct {
	Name     string `json:"name"`
	Host     string `json:"host"`
	Port     uint16 `json:"port"`
	Database string `json:"database"`
	User     string `json:"user"`
	// PasswordEnv is the variable that holds the password, Passfile a file in the form of .pgpass, so that no file here does.
	PasswordEnv string `json:"passwordEnv,omitempty"`
	Passfile    string `json:"passfile,omitempty"`
	// TLS is verify-full, require or disable, RootCert a file of certificates that are trusted.
	TLS      string `json:"tls"`
	RootCert string `json:"rootCert,omitempty"`
	// Read and Write decide about statements that read and write.
	Read  tongs.Decision `json:"read"`
	Write tongs.Decision `json:"write"`
}

// sqlName is how a connection can be called.
var sqlName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

const postgresPort = 5432

func (l *layer) readSQL(v value) {
	l.object(v, l.withApproval("sql", map[string]func(value){
		"connections": func(v value) {
			for _, f := range l.fields(v) {
				if !sqlName.MatchString(f.key) {
					l.fail(f.keyAt, "%s is called %s; use letters, digits, -, _ and .", v.name(), quote(f.key))
					continue
				}
				l.readConnection(f)
			}
		},
	}))
}

func (l *layer) readConnection(f field) {
	c := SQLConnection{Name: f.key, Port: postgresPort, Read: tongs.Ask, Write: tongs.Ask}
	before := len(l.problems)
	text := func(into *string) func(value) { return func(v value) { *into, _ = l.text(v) } }
	file := func(into *string) func(value) {
		return func(v value) {
			if name, ok := l.text(v); ok {
				*into = l.path(name)
			}
		}
	}
	l.object(f.value, map[string]func(value){
		"host": text(&c.Host), "database": text(&c.Database), "user": text(&c.User), "passwordEnv": text(&c.PasswordEnv),
		"passfile": file(&c.Passfile), "rootCert": file(&c.RootCert),
		"port": func(v value) { c.Port = uint16(l.number(v, setting{"port", count, postgresPort, 1, 65535})) },
		"tls":  func(v value) { c.TLS, _ = l.word(v, "verify-full", "require", "disable") },
		"read": func(v value) {
			w, _ := l.word(v, "preApproved", "ask")
			c.Read, _ = tongs.ParseDecision(w)
		},
		"write": func(v value) { c.Write, _ = l.decision(v) },
	})
	switch {
	case len(l.problems) > before:
		return
	case c.Host == "" || c.Database == "" || c.User == "":
		l.fail(f.keyAt, "the connection %s needs host, database and user", f.key)
		return
	case c.PasswordEnv != "" && c.Passfile != "":
		l.fail(f.keyAt, "the connection %s has passwordEnv and passfile; use one of them", f.key)
		return
	}
	if c.TLS == "" {
		c.TLS = "verify-full"
		if ip := net.ParseIP(c.Host); c.Host == "localhost" || ip != nil && ip.IsLoopback() {
			c.TLS = "disable"
		}
	}
	l.sql = append(l.sql, located[SQLConnection]{c, l.origin(f.keyAt)})
}

// mergeSQL collects the connections: of those with one name, that of the file with the most authority. Whoever names a server
// sees what is asked there, and its password is sent to it, so that a file that can only narrow names none.
func (c *Config) mergeSQL(layers []*layer) {
	for _, l := range layers {
		for _, found := range l.sql {
			key := "toolsets.sql.connections." + found.value.Name
			switch {
			case l.narrow:
				c.ignore(found.origin, key, untrustedWhy(l))
			case !slices.ContainsFunc(c.SQL, func(k SQLConnection) bool { return k.Name == found.value.Name }):
				c.SQL, c.origins[key] = append(c.SQL, found.value), found.origin
			}
		}
	}
}

func (c *Config) sqlSettings(add func(key string, value any)) {
	for _, k := range c.SQL {
		add("toolsets.sql.connections."+k.Name, fmt.Sprintf("%s@%s/%s, tls %s, read %s, write %s", k.User,
			net.JoinHostPort(k.Host, strconv.Itoa(int(k.Port))), k.Database, k.TLS, k.Read, k.Write))
	}
}
