package sql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// Connection is a PostgreSQL server that a person configured.
type Connection struct {
	Name, Host     string
	Port           uint16
	Database, User string
	// Password returns it when it is needed; nil is none. It is shown to nobody.
	Password func(ctx context.Context) (string, error)
	// TLS says how the connection is protected, RootCert is a file of certificates to trust; empty are those of the system.
	TLS      TLS
	RootCert string
	// Read decides about statements that read, Write about those that write.
	Read, Write tongs.Decision
}

// TLS says how a connection is protected.
type TLS string

const (
	// VerifyFull checks the certificate and its name.
	VerifyFull TLS = "verify-full"
	// Require encrypts, and checks nothing.
	Require TLS = "require"
	// Disable sends everything in the clear.
	Disable TLS = "disable"
)

// Target is what the connection connects to.
func (c Connection) Target() (network.Target, error) {
	return network.ParseTarget(net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Port)
}

// pgReads are what begins a statement that can only read in a read-only transaction. COPY is not among them: it can run programs
// of the server.
var pgReads = []string{"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN"}

// pgWrites are what else begins a statement that may write. Those that end a transaction or need none are not among them.
var pgWrites = []string{
	"INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "ALTER", "DROP", "TRUNCATE", "COMMENT", "GRANT", "REVOKE", "REFRESH", "REINDEX",
	"ANALYZE", "CALL", "DO", "REASSIGN", "SECURITY", "IMPORT",
}

func allowedVerb(s statement, write bool) error {
	switch {
	case slices.Contains(pgReads, s.verb) || write && slices.Contains(pgWrites, s.verb):
		return nil
	case slices.Contains(pgWrites, s.verb):
		return tongs.Errorf(tongs.CodePermissionDenied, "%s changes data or schema; without write: true a statement can only read", s.verb)
	}
	return tongs.Errorf(tongs.CodeInvalidArgs, "%s is not run; use one of %s, and with write: true %s", s.verb,
		strings.Join(pgReads, ", "), strings.Join(pgWrites, ", "))
}

// sends reports whether the call carries data out that nobody allowed beforehand.
func (c Connection) sends(write bool) bool { return write && c.Write != tongs.PreApproved }

func (t *tool) planPostgres(in Input, s statement) (*tongs.Plan, error) {
	c, err := t.connection(in)
	if err != nil {
		return nil, err
	}
	if err := allowedVerb(s, in.Write); err != nil {
		return nil, err
	}
	if in.Write && c.Write == tongs.Blocked {
		return nil, tongs.Errorf(tongs.CodeBlocked, "the connection %s is configured for reading only", c.Name)
	}
	target, err := c.Target()
	if err != nil {
		return nil, err
	}
	effect, decision := target.Effect(), c.Read
	plan := &tongs.Plan{
		Kind: tongs.KindRead, Message: fmt.Sprintf("Query the database %s of the connection %s", c.Database, c.Name),
		Preview: func(context.Context) (string, error) { return preview(in, c.told()), nil },
	}
	if in.Write {
		decision, plan.Kind = c.Write, tongs.KindWrite
		plan.Message = fmt.Sprintf("Change the database %s of the connection %s: %s", c.Database, c.Name, s.describe())
		plan.Preview = func(context.Context) (string, error) { return preview(in, c.told()+"\n-- "+tablesTold(s)), nil }
	}
	effect.Sends = c.sends(in.Write)
	plan.Effects, plan.Default = []tongs.Effect{effect}, &decision
	return plan, nil
}

// told tells a person where a statement goes.
func (c Connection) told() string {
	return fmt.Sprintf("on the database %s of the connection %s, as %s", c.Database, c.Name, c.User)
}

// tablesTold tells a person what the statement names.
func tablesTold(s statement) string {
	if len(s.tables) == 0 {
		return "it names no table; what it changes cannot be told"
	}
	return "tables: " + strings.Join(s.tables, ", ") + "; triggers and functions may change others"
}

func (t *tool) runPostgres(ctx context.Context, env *tongs.Env, in Input, s statement) (out Output, err error) {
	c, err := t.connection(in)
	if err != nil {
		return out, err
	}
	if err := allowedVerb(s, in.Write); err != nil {
		return out, err
	}
	dialer, ok := env.HTTP.(tongs.Dialer)
	if !ok {
		return out, tongs.Errorf(tongs.CodeConfigError, "this program cannot connect to databases")
	}
	values, err := textParams(in.Params)
	if err != nil {
		return out, err
	}
	password := ""
	if c.Password != nil {
		if password, err = c.Password(ctx); err != nil {
			return out, err
		}
	}
	conf, err := t.config(c, password, t.timeout(in), func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.Dial(ctx, address, c.sends(in.Write))
	})
	if err != nil {
		return out, err
	}
	conn, err := pgconn.ConnectConfig(ctx, conf)
	if err != nil {
		return out, pgError(ctx, c, password, err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	out.title = c.Name + ": " + oneLine(in.SQL)
	if err := t.transact(ctx, conn, in, values, &out); err != nil {
		return Output{}, pgError(ctx, c, password, err)
	}
	return out, nil
}

// errUnsure is what is told of a change whose end nobody knows.
var errUnsure = errors.New("the connection was lost while the change was committed, so it may or may not have been made; look before you repeat it")

// transact runs the statement in a transaction of its own: a read-only one, which is rolled back, unless the call writes.
func (t *tool) transact(ctx context.Context, conn *pgconn.PgConn, in Input, values [][]byte, out *Output) error {
	begin := "BEGIN READ ONLY"
	if in.Write {
		begin = "BEGIN READ WRITE"
	}
	// A transaction cannot become a writing one once it has a snapshot.
	for _, own := range []string{begin, "SELECT 1"} {
		if _, err := conn.Exec(ctx, own).ReadAll(); err != nil {
			return err
		}
	}
	// The extended protocol takes one statement, whatever is in the text.
	reader := conn.ExecParams(ctx, in.SQL, values, nil, nil, nil)
	for _, f := range reader.FieldDescriptions() {
		out.Columns = append(out.Columns, Column{Name: cell(f.Name), Type: pgTypes[f.DataTypeOID]})
	}
	collect := rows{out: out, limit: t.limit(in), left: t.opt.Bytes}
	for reader.NextRow() {
		if out.More || collect.add(pgRow(reader)) || in.Write {
			continue
		}
		return nil // the rest is not read: the connection is closed, which ends it
	}
	tag, err := reader.Close()
	if err != nil {
		return err
	}
	if !in.Write {
		return nil
	}
	if tag.Insert() || tag.Update() || tag.Delete() || strings.HasPrefix(tag.String(), "MERGE") {
		out.Changed = tag.RowsAffected()
	}
	if _, err := conn.Exec(ctx, "COMMIT").ReadAll(); err != nil {
		if _, said := errors.AsType[*pgconn.PgError](err); said {
			return err
		}
		return errUnsure
	}
	return nil
}

// maxMessage bounds what the server says at once: one row.
const maxMessage = 16 << 20

// config is how the connection is made. Nothing of the environment counts: neither its variables nor its service files.
func (t *tool) config(c Connection, password string, limit time.Duration, dial func(context.Context, string) (net.Conn, error)) (*pgconn.Config, error) {
	conf, err := pgconn.ParseConfig("host=localhost port=1 user=u password=p dbname=d sslmode=disable passfile=" + os.DevNull +
		" servicefile=" + os.DevNull)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the environment has a setting for PostgreSQL that cannot be read: %w", err)
	}
	protected, err := c.tls()
	if err != nil {
		return nil, err
	}
	conf.Host, conf.Port, conf.Database, conf.User, conf.Password = c.Host, c.Port, c.Database, c.User, password
	conf.TLSConfig, conf.Fallbacks, conf.ValidateConnect, conf.AfterConnect = protected, nil, nil, nil
	conf.SSLNegotiation, conf.KerberosSrvName, conf.KerberosSpn = "postgres", "", ""
	conf.ConnectTimeout, conf.MaxProtocolMessageBodyLen = 0, maxMessage
	conf.RuntimeParams = map[string]string{
		"application_name": "tongs", "client_encoding": "UTF8", "default_transaction_read_only": "on",
		"statement_timeout": strconv.FormatInt(limit.Milliseconds(), 10), "idle_in_transaction_session_timeout": "60000",
		"standard_conforming_strings": "on",
	}
	conf.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	conf.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) }
	conf.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 2 * time.Second}
	}
	return conf, nil
}

func (c Connection) tls() (*tls.Config, error) {
	switch c.TLS {
	case Disable:
		return nil, nil
	case Require:
		return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.Host}
	if c.RootCert == "" {
		return conf, nil
	}
	data, err := os.ReadFile(c.RootCert)
	conf.RootCAs = x509.NewCertPool()
	if err != nil || !conf.RootCAs.AppendCertsFromPEM(data) {
		return nil, tongs.Errorf(tongs.CodeConfigError, "toolsets.sql.connections.%s.rootCert: %s has no certificate that can be read", c.Name, c.RootCert)
	}
	return conf, nil
}

// textParams spells values as the server reads them. It knows their types from the statement.
func textParams(params []json.RawMessage) ([][]byte, error) {
	list := make([][]byte, len(params))
	for i, raw := range params {
		v, err := param(raw)
		if err != nil {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "params[%d]: %w", i, err)
		}
		if v != nil {
			list[i] = fmt.Append(nil, v)
		}
	}
	return list, nil
}

// pgError says what went wrong, without the password.
func pgError(ctx context.Context, c Connection, password string, err error) error {
	if told, ok := errors.AsType[*tongs.Error](err); ok {
		return told
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return serverError(said)
	}
	text := err.Error()
	if password != "" {
		text = strings.ReplaceAll(text, password, "[password]")
	}
	return tongs.Errorf(tongs.CodeNetworkError, "connection %s: %s", c.Name, text)
}

// serverError is an answer of the server.
func serverError(said *pgconn.PgError) error {
	text := fmt.Sprintf("%s: %s (SQLSTATE %s)", said.Severity, said.Message, said.Code)
	for _, more := range []string{said.Detail, said.Hint} {
		if more != "" {
			text += "; " + more
		}
	}
	if said.Position > 0 {
		text += fmt.Sprintf("; at character %d", said.Position)
	}
	switch said.Code {
	case "57014": // cancelled, by its time limit
		return tongs.Errorf(tongs.CodeTimeout, "%s", text)
	case "25006": // in a read-only transaction
		return tongs.Errorf(tongs.CodePermissionDenied, "%s; without write: true a statement can only read", text)
	case "28P01", "28000":
		return tongs.Errorf(tongs.CodeConfigError, "%s; a person must correct the connection", text)
	case "57P01", "57P02", "57P03":
		return tongs.Errorf(tongs.CodeNetworkError, "%s", text)
	}
	return tongs.Errorf(tongs.CodeExecutionError, "%s", text)
}
