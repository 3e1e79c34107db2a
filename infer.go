package tongs

import (
	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaOf infers the JSON Schema of T.
func SchemaOf[T any]() (schema *jsonschema.Schema, argAliases map[string]string, err error) {
	schema, err = jsonschema.For[T](nil)
	return schema, nil, err
}
