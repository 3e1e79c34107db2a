package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tongs-ai/tongs"
)

// beside are the files that SQLite keeps beside a database while it is in use, and after a crash.
var beside = []string{"-wal", "-journal", "-shm"}

// database is an SQLite file of the workspace.
type database struct {
	path tongs.Path
	// there says that it exists; sides are those of beside that do.
	there bool
	sides []tongs.Path
}

func findDatabase(files tongs.FileView, name string) (d database, err error) {
	if d.path, err = files.Resolve(name); err != nil {
		return d, err
	}
	info, err := files.Stat(d.path)
	switch {
	case tongs.CodeOf(err) == tongs.CodeFileNotFound:
		return d, nil
	case err != nil:
		return d, err
	case info.Type != tongs.FileRegular:
		return d, tongs.Errorf(tongs.CodeInvalidArgs, "%s is no file, but a %s", d.path, info.Type)
	}
	d.there = true
	for _, end := range beside {
		side := tongs.Path{Root: d.path.Root, Rel: d.path.Rel + end}
		switch info, err := files.Stat(side); {
		case tongs.CodeOf(err) == tongs.CodeFileNotFound:
		case err != nil:
			return d, err
		case info.Type != tongs.FileRegular:
			return d, tongs.Errorf(tongs.CodeInvalidArgs, "%s is no file, but a %s", side, info.Type)
		default:
			d.sides = append(d.sides, side)
		}
	}
	return d, nil
}

// effects are what a statement would do to the file, and to those beside it.
func (d database) effects(write bool) (list []tongs.Effect) {
	list = append(list, tongs.Effect{Kind: tongs.EffectRead, Path: d.path, Incidental: write})
	for _, end := range beside {
		list = append(list, tongs.Effect{Kind: tongs.EffectRead, Path: tongs.Path{Root: d.path.Root, Rel: d.path.Rel + end}, Incidental: true})
	}
	if !write {
		return list
	}
	list = append([]tongs.Effect{{Kind: tongs.EffectWrite, Path: d.path}}, list...)
	for _, side := range d.sides {
		list = append(list, tongs.Effect{Kind: tongs.EffectDelete, Path: side, Why: "what it holds becomes part of " + d.path.String()})
	}
	return list
}

func (t *tool) planSQLite(_ context.Context, v *tongs.View, in Input, s statement) (*tongs.Plan, error) {
	d, err := findDatabase(v.Files, in.File)
	if err != nil {
		return nil, err
	}
	if !d.there && !in.Write {
		return nil, tongs.Errorf(tongs.CodeFileNotFound, "path %q does not exist", in.File)
	}
	plan := &tongs.Plan{Effects: d.effects(in.Write), Kind: tongs.KindRead, Message: "Query " + d.path.String()}
	decision := tongs.PreApproved
	if in.Write {
		decision, plan.Kind = tongs.Ask, tongs.KindWrite
		plan.Message = fmt.Sprintf("Change %s: %s", d.path, s.describe())
		plan.Preview = func(ctx context.Context) (string, error) {
			return preview(in, t.touched(ctx, v.Files, d, in)), nil
		}
	}
	plan.Default = &decision
	return plan, nil
}

// describe says in a few words what a statement does.
func (s statement) describe() string {
	if len(s.tables) == 0 {
		return s.verb
	}
	return s.verb + " " + strings.Join(s.tables, ", ")
}

// touched asks SQLite what a statement would change, for a person who decides.
func (t *tool) touched(ctx context.Context, files tongs.FileView, d database, in Input) string {
	snap, err := t.snapshot(ctx, files, d)
	if err != nil {
		return ""
	}
	defer snap.close()
	conn, err := snap.open(ctx)
	if err != nil {
		return ""
	}
	defer conn.Close()
	guard := &authorizer{write: true}
	if conn.SetAuthorizer(guard) != nil {
		return ""
	}
	stmt, _, err := conn.PrepareTransient(in.SQL)
	if stmt != nil {
		_ = stmt.Finalize()
	}
	if err != nil {
		return "SQLite refuses it: " + guard.explain(err).Error()
	}
	return "changes: " + strings.Join(guard.touched(), ", ")
}

func (t *tool) runSQLite(ctx context.Context, env *tongs.Env, in Input) (out Output, err error) {
	d, err := findDatabase(env.Files, in.File)
	if err != nil {
		return out, err
	}
	if !d.there && !in.Write {
		return out, tongs.Errorf(tongs.CodeFileNotFound, "path %q does not exist", in.File)
	}
	host := env.Files.Host(d.path)
	if in.Write && d.there {
		if err := unused(host, d); err != nil {
			return out, err
		}
	}
	snap, err := t.snapshot(ctx, env.Files, d)
	if err != nil {
		return out, err
	}
	defer snap.close()
	out.title = d.path.String() + ": " + oneLine(in.SQL)
	if err := t.statement(ctx, snap, in, &out); err != nil {
		return Output{}, sqliteError(ctx, d, err)
	}
	if in.Write {
		if d.there {
			if err := unused(host, d); err != nil {
				return Output{}, err
			}
		}
		return out, t.replace(ctx, env, d, snap)
	}
	return out, nil
}

// statement runs the one of a call on the copy.
func (t *tool) statement(ctx context.Context, snap *snapshot, in Input, out *Output) (err error) {
	ctx, stop := bounded(ctx)
	defer stop()
	conn, err := snap.open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closing := conn.Close(); err == nil {
			err = closing
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	if err := sound(conn, snap); err != nil {
		return err
	}
	guard := &authorizer{write: in.Write}
	if in.Write {
		if err := sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil); err != nil {
			return err
		}
	}
	if err := conn.SetAuthorizer(guard); err != nil {
		return err
	}
	if err := t.step(conn, in, out); err != nil {
		return guard.explain(err)
	}
	if !in.Write {
		return nil
	}
	if err := conn.SetAuthorizer(nil); err != nil {
		return err
	}
	if err := sqlitex.ExecuteTransient(conn, "COMMIT", nil); err != nil {
		return err
	}
	// What the file beside it holds becomes part of the copy.
	return sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(TRUNCATE)", nil)
}

// checkedBytes is the size up to which a file is looked through before it is used.
const checkedBytes = 32 << 20

// sound refuses a file that is damaged: SQLite itself takes some damage for empty values.
func sound(conn *sqlite.Conn, snap *snapshot) error {
	if info, err := os.Stat(snap.file); err != nil || info.Size() > checkedBytes {
		return nil
	}
	said := ""
	err := sqlitex.ExecuteTransient(conn, "PRAGMA quick_check(1)", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		said = stmt.ColumnText(0)
		return nil
	}})
	if err == nil && said != "" && said != "ok" {
		err = tongs.Errorf(tongs.CodeExecutionError, "the database is damaged: %s", strings.Join(strings.Fields(said), " "))
	}
	return err
}

// step prepares, binds and steps the statement.
func (t *tool) step(conn *sqlite.Conn, in Input, out *Output) (err error) {
	stmt, trailing, err := conn.PrepareTransient(in.SQL)
	if err != nil {
		return err
	}
	defer func() {
		if ended := stmt.Finalize(); err == nil {
			err = ended
		}
	}()
	if rest, err := scan(in.SQL[len(in.SQL)-trailing:], false); err != nil || strings.Trim(texts(rest), ";") != "" {
		return tongs.Errorf(tongs.CodeInvalidArgs, "sql has several statements; call once for each")
	}
	if n := stmt.BindParamCount(); n != len(in.Params) {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the statement has %d placeholders, and params has %d values", n, len(in.Params))
	}
	if err := bind(stmt, in.Params); err != nil {
		return err
	}
	for i := range stmt.ColumnCount() {
		out.Columns = append(out.Columns, Column{Name: cell(stmt.ColumnName(i))})
	}
	collect := rows{out: out, limit: t.limit(in), left: t.opt.Bytes}
	for {
		more, err := stmt.Step()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if !out.More && !collect.add(values(stmt)) && !in.Write {
			break // a statement that writes is run to its end
		}
	}
	if in.Write {
		out.Changed = int64(conn.Changes())
	}
	return nil
}

func texts(words []word) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.text)
	}
	return b.String()
}

func bind(stmt *sqlite.Stmt, params []json.RawMessage) error {
	for i, raw := range params {
		v, err := param(raw)
		if err != nil {
			return tongs.Errorf(tongs.CodeInvalidArgs, "params[%d]: %w", i, err)
		}
		switch v := v.(type) {
		case nil:
			stmt.BindNull(i + 1)
		case bool:
			stmt.BindBool(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case json.Number:
			if n, err := v.Int64(); err == nil {
				stmt.BindInt64(i+1, n)
			} else if f, err := v.Float64(); err == nil {
				stmt.BindFloat(i+1, f)
			} else {
				return tongs.Errorf(tongs.CodeInvalidArgs, "params[%d]: %s is too large a number", i, v)
			}
		}
	}
	return nil
}

func values(stmt *sqlite.Stmt) []any {
	row := make([]any, stmt.ColumnCount())
	for i := range row {
		switch stmt.ColumnType(i) {
		case sqlite.TypeInteger:
			row[i] = stmt.ColumnInt64(i)
		case sqlite.TypeFloat:
			row[i] = stmt.ColumnFloat(i)
			if _, err := json.Marshal(row[i]); err != nil { // infinite
				row[i] = stmt.ColumnText(i)
			}
		case sqlite.TypeText:
			row[i] = cell(stmt.ColumnText(i))
		case sqlite.TypeBlob:
			data := make([]byte, stmt.ColumnLen(i))
			stmt.ColumnBytes(i, data)
			row[i] = blob(data)
		}
	}
	return row
}

// replace makes the copy the file. What was beside it goes first: SQLite would take it for a part of the new file.
func (t *tool) replace(ctx context.Context, env *tongs.Env, d database, snap *snapshot) error {
	for _, side := range d.sides {
		if _, err := env.Files.Remove(ctx, side, false); err != nil {
			return err
		}
	}
	_, err := env.Files.Replace(ctx, d.path, tongs.Replacing{MakeDirs: true}, func(w io.Writer) error {
		f, err := os.Open(snap.file)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	})
	return err
}

// sqliteError says what went wrong.
func sqliteError(ctx context.Context, d database, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if told, ok := errors.AsType[*tongs.Error](err); ok {
		return told
	}
	said := strings.TrimPrefix(err.Error(), "sqlite: ")
	switch code := sqlite.ErrCode(err).ToPrimary(); code {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return tongs.Errorf(tongs.CodeExecutionError, "%s is damaged, or no SQLite database: %s", d.path, said)
	case sqlite.ResultTooBig:
		return tongs.Errorf(tongs.CodeTooLarge, "a value is larger than the %d bytes that one may have here: %s", maxValue, said)
	}
	return tongs.Errorf(tongs.CodeExecutionError, "%s", said)
}

func oneLine(sql string) string {
	text := strings.Join(strings.Fields(sql), " ")
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "..."
	}
	return text
}
