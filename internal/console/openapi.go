package console

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/insight"
)

//go:generate go test -run TestOpenAPI -update .

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// written are the types that are written as JSON in a form of their own.
func written() map[reflect.Type]*jsonschema.Schema {
	text := func(words ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: words} }
	names := &jsonschema.Schema{Type: "array", Items: text("read", "write", "execute", "network")}
	return map[reflect.Type]*jsonschema.Schema{
		typeOf[tongs.Decision]():     text("preApproved", "ask", "blocked"),
		typeOf[tongs.Mode]():         text("none", "safe", "all"),
		typeOf[tongs.EffectKind]():   text("read", "write", "delete", "execute", "network"),
		typeOf[tongs.EffectKinds]():  {Type: "string"},
		typeOf[tongs.Permissions]():  names,
		typeOf[insight.Millis]():     {Type: "number"},
		typeOf[json.RawMessage]():    {},
		typeOf[[]byte]():             {Type: "string"},
		typeOf[*jsonschema.Schema](): {},
		typeOf[jsonschema.Schema]():  {},
	}
}

// schemaFor is the schema of what a type is written as.
func schemaFor(t reflect.Type) (*jsonschema.Schema, error) {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: written()})
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	return schema, nil
}

var pathVariable = regexp.MustCompile(`\{(\w+)(\.\.\.)?\}`)

// openAPI describes the routes as OpenAPI 3.1.
func openAPI(routes []route) (map[string]any, error) {
	paths := map[string]map[string]any{}
	failed, err := schemaFor(typeOf[problem]())
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		operation, err := r.describe()
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
		name := pathVariable.ReplaceAllString(r.path, "{$1}")
		if paths[name] == nil {
			paths[name] = map[string]any{}
		}
		paths[name][strings.ToLower(r.method)] = operation
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "Tongs console", "version": "1",
			"description": "What the pages of the console ask for. A request needs the cookie and the key (" + keyHeader + ") of a login.",
		},
		"paths": paths,
		"components": map[string]any{
			"responses":       map[string]any{"Problem": response("What was wrong", "application/json", failed)},
			"securitySchemes": map[string]any{"key": map[string]any{"type": "apiKey", "in": "header", "name": keyHeader}},
		},
		"security": []any{map[string]any{"key": []any{}}},
	}, nil
}

func response(what, media string, schema *jsonschema.Schema) map[string]any {
	content := map[string]any{}
	if schema != nil {
		content["schema"] = schema
	}
	return map[string]any{"description": what, "content": map[string]any{media: content}}
}

func (r route) describe() (map[string]any, error) {
	var result *jsonschema.Schema
	var err error
	if r.out != nil {
		if result, err = schemaFor(r.out); err != nil {
			return nil, err
		}
	}
	parameters := []any{}
	for _, m := range pathVariable.FindAllStringSubmatch(r.path, -1) {
		parameters = append(parameters, map[string]any{
			"name": m[1], "in": "path", "required": true, "schema": map[string]any{"type": "string"},
		})
	}
	operation := map[string]any{
		"summary": r.summary,
		"responses": map[string]any{
			"200": response("Done", r.media, result), "default": map[string]any{"$ref": "#/components/responses/Problem"},
		},
	}
	switch {
	case r.method == "GET" && r.in != nil:
		parameters = append(parameters, queryParameters(r.in)...)
	case r.in != nil:
		body, err := schemaFor(r.in)
		if err != nil {
			return nil, err
		}
		operation["requestBody"] = map[string]any{
			"required": true, "content": map[string]any{"application/json": map[string]any{"schema": body}},
		}
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	return operation, nil
}

func queryParameters(t reflect.Type) (list []any) {
	for i := range t.NumField() {
		field := t.Field(i)
		name := field.Tag.Get("query")
		if name == "" {
			continue
		}
		kind := "integer"
		switch field.Type.Kind() {
		case reflect.String:
			kind = "string"
		case reflect.Bool:
			kind = "boolean"
		}
		parameter := map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": kind}}
		if doc := field.Tag.Get("doc"); doc != "" {
			parameter["description"] = doc
		}
		list = append(list, parameter)
	}
	return list
}
