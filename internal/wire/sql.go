package wire

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/jackc/pgpassfile"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/tools/sql"
)

// addSQL makes sql_query part of the registry.
func (s *System) addSQL() error {
	l := s.Config.Limits
	opt := sql.Options{
		Rows: int(l.SQLRows), MaxRows: int(l.SQLMax), Bytes: int(l.SQLBytes), FileBytes: l.SQLFileBytes,
		Timeout: l.SQLTimeout, MaxTimeout: l.SQLTimeoutMax, Temp: filepath.Join(s.StateDir, "sql"),
	}
	for _, c := range s.Config.SQL {
		opt.Connections = append(opt.Connections, connection(c))
	}
	query, err := sql.New(opt)
	if err != nil {
		return err
	}
	return s.builtIn.Register(query)
}

// connection is a configured one as the tool knows it. Its password is looked for when it is needed.
func connection(c config.SQLConnection) sql.Connection {
	return sql.Connection{
		Name: c.Name, Host: c.Host, Port: c.Port, Database: c.Database, User: c.User, TLS: sql.TLS(c.TLS), RootCert: c.RootCert,
		Read: c.Read, Write: c.Write,
		Password: func(context.Context) (string, error) { return passwordOf(c) },
	}
}

func passwordOf(c config.SQLConnection) (string, error) {
	switch {
	case c.PasswordEnv != "":
		if password := os.Getenv(c.PasswordEnv); password != "" {
			return password, nil
		}
		return "", tongs.Errorf(tongs.CodeConfigError, "the connection %s has no password: %s is not set", c.Name, c.PasswordEnv)
	case c.Passfile != "":
		info, err := os.Stat(c.Passfile)
		if err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			return "", tongs.Errorf(tongs.CodeConfigError, "others can read %s, so its passwords are not used; run chmod 600 on it", c.Passfile)
		}
		list, err := pgpassfile.ReadPassfile(c.Passfile)
		if err != nil {
			return "", tongs.Errorf(tongs.CodeConfigError, "the connection %s has no password: %s cannot be read", c.Name, c.Passfile)
		}
		return list.FindPassword(c.Host, strconv.Itoa(int(c.Port)), c.Database, c.User), nil
	}
	return "", nil
}
