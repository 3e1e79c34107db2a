// Package sql holds the tool sql_query: one statement on an SQLite file of the workspace, or on a PostgreSQL server that
// configuration names.
//
// A statement reads unless the call says that it writes, and values are bound, never spelled into it. SQLite works on a private
// copy of the file, under an authorizer that allows what is listed and nothing else; what a statement wrote replaces the file as
// any other change of a file does, so that it can be undone. PostgreSQL is reached through the Env only, in a read-only
// transaction unless the call writes.
package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

const (
	// Toolset is the name that configuration knows the tool by.
	Toolset = "sql"
	// Name is the name of the tool.
	Name = "sql_query"
)

// Options are those of the tool. A zero field means the default that its comment names.
type Options struct {
	// Connections are the PostgreSQL servers that a call can name.
	Connections []Connection
	// Rows is how many rows a call returns that names no limit: 100. MaxRows is the most that it can name: 1,000.
	Rows, MaxRows int
	// Bytes bounds the rows of a result: 100,000 bytes.
	Bytes int
	// FileBytes bounds an SQLite file, with its journals: 512 MiB.
	FileBytes int64
	// Timeout is how long a statement may take that names no timeout: 30 s. MaxTimeout is the most that it can name: 300 s.
	Timeout, MaxTimeout time.Duration
	// Temp is a private directory for copies of SQLite files; empty is the system's for temporary files.
	Temp string
}

func (o Options) withDefaults() Options {
	orElse(&o.Rows, 100)
	orElse(&o.MaxRows, 1000)
	orElse(&o.Bytes, 100_000)
	orElse(&o.FileBytes, 512<<20)
	orElse(&o.Timeout, 30*time.Second)
	orElse(&o.MaxTimeout, 300*time.Second)
	o.Rows, o.Timeout = min(o.Rows, o.MaxRows), min(o.Timeout, o.MaxTimeout)
	return o
}

func orElse[N int | int64 | time.Duration](v *N, usual N) {
	if *v <= 0 {
		*v = usual
	}
}

// Input are the arguments of sql_query.
type Input struct {
	SQL        string            `json:"sql" jsonschema:"One statement." minLength:"1" maxLength:"100000" alias:"query,statement"`
	Params     []json.RawMessage `json:"params,omitempty" jsonschema:"Values of its placeholders: ? for SQLite, $1 for PostgreSQL." maxItems:"500"`
	File       string            `json:"file,omitempty" jsonschema:"Path of an SQLite file, relative to the workspace." maxLength:"4096" alias:"path,database,db"`
	Connection string            `json:"connection,omitempty" jsonschema:"Configured PostgreSQL connection, instead of a file." maxLength:"100"`
	Write      bool              `json:"write,omitempty" jsonschema:"Let it change data or schema."`
	Limit      int               `json:"limit,omitempty" jsonschema:"Rows to return at most." min:"1"`
	Timeout    int               `json:"timeout,omitempty" jsonschema:"Seconds." min:"1"`
}

// New makes the tool.
func New(opt Options) (tongs.Tool, error) {
	t := &tool{opt: opt.withDefaults()}
	in, aliases, err := tongs.SchemaOf[Input]()
	if err != nil {
		return nil, err
	}
	rows, seconds := float64(t.opt.MaxRows), t.opt.MaxTimeout.Seconds()
	in.Properties["limit"].Maximum, in.Properties["timeout"].Maximum = &rows, &seconds
	in.Properties["limit"].Default = fmt.Appendf(nil, "%d", t.opt.Rows)
	in.Properties["timeout"].Default = fmt.Appendf(nil, "%d", int(t.opt.Timeout.Seconds()))
	return tongs.New(tongs.Def[Input, Output]{
		Spec: tongs.Spec{
			Name: Name, Title: "Query a database", Toolset: Toolset, Extra: true,
			Description: "Runs one SQL statement on an SQLite file or a configured PostgreSQL connection.",
			Needs:       tongs.Read, Optional: tongs.Write | tongs.Network, Input: in, ArgAliases: aliases,
			Hints: tongs.Hints{Destructive: true, OpenWorld: true},
		},
		Plan: t.plan, Run: t.run,
	})
}

// tool is what calls share; it does not change.
type tool struct{ opt Options }

func (t *tool) timeout(in Input) time.Duration {
	if in.Timeout <= 0 {
		return t.opt.Timeout
	}
	return min(time.Duration(in.Timeout)*time.Second, t.opt.MaxTimeout)
}

func (t *tool) limit(in Input) int {
	if in.Limit <= 0 {
		return t.opt.Rows
	}
	return min(in.Limit, t.opt.MaxRows)
}

// connection is the one that a call names.
func (t *tool) connection(in Input) (Connection, error) {
	i := slices.IndexFunc(t.opt.Connections, func(c Connection) bool { return c.Name == in.Connection })
	if i >= 0 {
		return t.opt.Connections[i], nil
	}
	var names []string
	for _, c := range t.opt.Connections {
		names = append(names, c.Name)
	}
	hint := "none is configured; a person adds one under toolsets.sql.connections"
	if len(names) > 0 {
		hint = "configured are " + strings.Join(names, ", ")
	}
	return Connection{}, tongs.Errorf(tongs.CodeInvalidArgs, "there is no connection %q; %s", in.Connection, hint)
}

// check refuses what no database is asked.
func check(in Input) (statement, error) {
	if (in.File == "") == (in.Connection == "") {
		return statement{}, tongs.Errorf(tongs.CodeInvalidArgs, "name one of file, for an SQLite file, and connection, for PostgreSQL")
	}
	s, err := parse(in.SQL, in.Connection != "")
	if err != nil {
		return s, err
	}
	for i, raw := range in.Params {
		if _, err := param(raw); err != nil {
			return s, tongs.Errorf(tongs.CodeInvalidArgs, "params[%d]: %w", i, err)
		}
	}
	return s, nil
}

func (t *tool) plan(ctx context.Context, v *tongs.View, in Input) (*tongs.Plan, error) {
	s, err := check(in)
	if err != nil {
		return nil, err
	}
	if in.Connection != "" {
		return t.planPostgres(in, s)
	}
	return t.planSQLite(ctx, v, in, s)
}

func (t *tool) run(ctx context.Context, env *tongs.Env, in Input) (Output, error) {
	s, err := check(in)
	if err != nil {
		return Output{}, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout(in), errTime)
	defer cancel()
	var out Output
	if in.Connection != "" {
		out, err = t.runPostgres(ctx, env, in, s)
	} else {
		out, err = t.runSQLite(ctx, env, in)
	}
	if err != nil {
		return Output{}, err
	}
	out.Duration = time.Since(began).Milliseconds()
	return out, nil
}

var errTime = tongs.Errorf(tongs.CodeTimeout, "the statement took longer than it may; narrow it, or raise timeout")

// preview shows a person the statement, its values and what it touches.
func preview(in Input, touches string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(in.SQL) + "\n")
	for i, raw := range in.Params {
		fmt.Fprintf(&b, "-- value %d: %s\n", i+1, raw)
	}
	if touches != "" {
		b.WriteString("-- " + touches + "\n")
	}
	return b.String()
}

// param decodes a value: nil, bool, json.Number or string.
func param(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil, bool, json.Number:
		return v, nil
	case string:
		if strings.IndexByte(v, 0) >= 0 {
			return nil, fmt.Errorf("a value cannot contain a NUL character")
		}
		return v, nil
	}
	return nil, fmt.Errorf("%s is no value that can be bound; give a string, a number, a boolean or null", raw)
}
