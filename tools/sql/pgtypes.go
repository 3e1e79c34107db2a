package sql

import (
	"encoding/json"

	"github.com/jackc/pgx/v5/pgconn"
)

// The numbers of the types whose values are not texts.
const (
	boolOID   = 16
	byteaOID  = 17
	int8OID   = 20
	int2OID   = 21
	int4OID   = 23
	oidOID    = 26
	jsonOID   = 114
	float4OID = 700
	float8OID = 701
	numberOID = 1700
	jsonbOID  = 3802
)

// pgTypes are the names of common types.
var pgTypes = map[uint32]string{
	boolOID: "boolean", byteaOID: "bytea", int8OID: "bigint", int2OID: "smallint", int4OID: "integer", 25: "text", oidOID: "oid",
	jsonOID: "json", float4OID: "real", float8OID: "double precision", 1042: "char", 1043: "varchar", 1082: "date", 1083: "time",
	1114: "timestamp", 1184: "timestamptz", 1186: "interval", numberOID: "numeric", 2950: "uuid", jsonbOID: "jsonb",
}

// pgRow makes values of what the server wrote as text.
func pgRow(r *pgconn.ResultReader) []any {
	fields, texts := r.FieldDescriptions(), r.Values()
	row := make([]any, len(texts))
	for i, text := range texts {
		if text != nil {
			row[i] = pgValue(fields[i].DataTypeOID, string(text))
		}
	}
	return row
}

func pgValue(oid uint32, text string) any {
	switch oid {
	case boolOID:
		return text == "t"
	case int2OID, int4OID, int8OID, oidOID, float4OID, float8OID, numberOID:
		if json.Valid([]byte(text)) { // not NaN or Infinity
			return json.Number(text)
		}
	case jsonOID, jsonbOID:
		if len(text) <= maxCell && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	return cell(text)
}
