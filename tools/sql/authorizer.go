package sql

import (
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/tongs-ai/tongs"
)

// authorizer allows what is listed here and nothing else: no other database, no extension, no setting.
type authorizer struct {
	write bool
	// refused is the first thing that was not allowed; changes are what the statement would do, each once.
	refused string
	changes []string
}

// reads are what every statement may do.
var reads = []sqlite.OpType{sqlite.OpSelect, sqlite.OpRead, sqlite.OpRecursive}

// writes are what a statement may do that writes, and how a person is told.
var writes = map[sqlite.OpType]string{
	sqlite.OpInsert: "insert into", sqlite.OpUpdate: "update", sqlite.OpDelete: "delete from",
	sqlite.OpCreateTable: "create table", sqlite.OpCreateIndex: "create index on", sqlite.OpCreateView: "create view",
	sqlite.OpCreateTrigger: "create trigger on", sqlite.OpDropTable: "drop table", sqlite.OpDropIndex: "drop index on",
	sqlite.OpDropView: "drop view", sqlite.OpDropTrigger: "drop trigger on", sqlite.OpAlterTable: "alter table",
	sqlite.OpReindex: "reindex", sqlite.OpAnalyze: "analyze",
	sqlite.OpCreateVTable: "create virtual table", sqlite.OpDropVTable: "drop virtual table",
}

// pragmas are those that only tell something.
var pragmas = []string{
	"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list", "foreign_key_check",
	"collation_list", "compile_options", "function_list", "module_list", "pragma_list", "integrity_check", "quick_check",
}

// numbers are those that tell something where they are given no value.
var numbers = []string{"user_version", "application_id", "schema_version", "page_count", "page_size", "freelist_count", "encoding", "journal_mode", "foreign_keys"}

// modules are those of virtual tables that keep their data in the database.
var modules = []string{"fts3", "fts4", "fts5", "rtree"}

// refusedFunctions reach outside of the database, or its safety.
var refusedFunctions = []string{"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "sqlite_log"}

// Authorize implements sqlite.Authorizer.
func (a *authorizer) Authorize(action sqlite.Action) sqlite.AuthResult {
	if a.allows(action) {
		return sqlite.AuthResultOK
	}
	if a.refused == "" {
		a.refused = told(action)
	}
	return sqlite.AuthResultDeny
}

// told says what a statement wanted.
func told(action sqlite.Action) string {
	verb, ok := writes[action.Type()]
	table := action.Table()
	switch {
	case ok && strings.HasPrefix(table, "sqlite_"):
		return "change the schema"
	case ok && table+action.View() != "":
		return verb + " " + table + action.View()
	}
	switch action.Type() {
	case sqlite.OpAttach, sqlite.OpDetach:
		return "attach another database, as ATTACH and VACUUM do"
	case sqlite.OpPragma:
		return "set or read the pragma " + action.Pragma()
	case sqlite.OpFunction:
		return "call the function " + action.Operation()
	case sqlite.OpTransaction, sqlite.OpSavepoint:
		return "begin or end a transaction"
	case sqlite.OpCreateVTable:
		return "create a virtual table of the module " + action.Module()
	}
	return "do " + strings.TrimPrefix(action.Type().String(), "SQLITE_")
}

func (a *authorizer) allows(action sqlite.Action) bool {
	op := action.Type()
	switch {
	case slices.Contains(reads, op):
		return true
	case op == sqlite.OpFunction:
		return !slices.Contains(refusedFunctions, strings.ToLower(action.Operation()))
	case op == sqlite.OpPragma:
		name := strings.ToLower(action.Pragma())
		return slices.Contains(pragmas, name) || slices.Contains(numbers, name) && action.PragmaArg() == ""
	}
	verb, ok := writes[op]
	if !ok || !a.write || op == sqlite.OpCreateVTable && !slices.Contains(modules, strings.ToLower(action.Module())) {
		return false
	}
	table := action.Table()
	if table == "" {
		table = action.View()
	}
	if strings.HasPrefix(table, "sqlite_") { // its own records of what is said already
		return true
	}
	if change := fmt.Sprintf("%s %s", verb, table); !slices.Contains(a.changes, change) {
		a.changes = append(a.changes, change)
	}
	return true
}

// touched are the changes, for a person.
func (a *authorizer) touched() []string {
	if len(a.changes) == 0 {
		return []string{"nothing"}
	}
	return a.changes
}

// explain says why a statement was not prepared.
func (a *authorizer) explain(err error) error {
	if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultAuth || a.refused == "" {
		return err
	}
	hint := "only statements that read or change this one database are run"
	if !a.write {
		hint = "without write: true a statement can only read"
	}
	return tongs.Errorf(tongs.CodePermissionDenied, "the statement may not %s; %s", a.refused, hint)
}
