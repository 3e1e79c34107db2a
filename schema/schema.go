// Package schema repairs the arguments of calls, and checks arguments and results against JSON Schema 2020-12. Formats are
// checked too.
//
// Arguments come as models write them, so they are repaired first where that is unambiguous: a number inside quotes,
// a list inside a string, another spelling of a name. What is valid as it stands is never changed, apart from the
// defaults of absent properties, which are filled in; every repair is reported.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	source "github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

// Validator checks arguments and values. Its zero value is ready, and it is safe for concurrent use. Schemas are
// compiled when they are first needed and kept while their spec is in use.
type Validator struct {
	cache cache
}

// Checked are arguments that are valid.
type Checked struct {
	// Args is the JSON object that the tool is called with: the very bytes that were given where nothing changed.
	Args json.RawMessage
	// Repaired has one short sentence for each repair.
	Repaired []string
}

// Field is one argument that is wrong, in the detail "fields" of an INVALID_ARGS error.
type Field struct {
	// Path is where it is: "edits[0].oldString".
	Path string `json:"path"`
	// Value is what was given, as bounded JSON; empty where nothing was.
	Value string `json:"value,omitempty"`
	// Want is what would be right.
	Want string `json:"want,omitempty"`
	// Message says both.
	Message string `json:"message"`
}

// anything is the input schema of a spec that has none.
var anything = &source.Schema{Type: "object"}

// Check returns the arguments with defaults filled in and mistakes repaired, or an *tongs.Error: INVALID_ARGS naming
// every field that is wrong, or CONFIG_ERROR where the schema itself is.
func (v *Validator) Check(spec *tongs.Spec, args json.RawMessage) (Checked, error) {
	input := spec.Input
	if input == nil {
		input = anything
	}
	c, err := v.cache.get(input)
	if err != nil {
		return Checked{}, tongs.Errorf(tongs.CodeConfigError, "input schema of %s: %w", spec.Name, err)
	}
	if trimmed := bytes.TrimSpace(args); len(trimmed) == 0 || string(trimmed) == "null" {
		args = json.RawMessage("{}")
	}
	doc, err := parse(args, maxDepth)
	if err != nil {
		return Checked{}, invalid(spec, "%w", err)
	}
	object, ok := doc.value.(map[string]any)
	work := maxWork
	if ok && !doc.odd && !c.open && (c.quick.accepts(object) || c.valid(c.root, object, &work)) {
		return Checked{Args: complete(c, object, args)}, nil
	}
	return v.repairArgs(spec, c, doc.value, args)
}

// repairArgs repairs arguments that are not valid as they stand, or that may hold an integer written with a fraction.
func (v *Validator) repairArgs(spec *tongs.Spec, c *compiled, value any, args json.RawMessage) (Checked, error) {
	r := newRepairer(c, spec)
	object, ok := r.object(value)
	if !ok {
		return Checked{}, invalid(spec, "they are %s, not a JSON object; give an object with %s", show(value),
			describeProperties(c.root))
	}
	before := r.history
	fixed := r.fix([]target{c.root}, object, "", 0)
	work := maxWork
	err := c.validate(c.root, fixed, &work)
	if err != nil {
		if inner, notes, ok := unwrap(spec, c, object); ok {
			r.history = before
			r.notes = append(r.notes, notes...)
			fixed, err = inner, nil
		}
	}
	if err != nil {
		return Checked{}, r.report(spec, c, fixed, err)
	}
	if c.open {
		if fields := ambiguous([]target{c.root}, fixed, "", 0); len(fields) > 0 {
			return Checked{}, failure(spec, fields)
		}
	}
	if len(r.notes) > 0 {
		args = appendJSON(nil, fixed)
		if _, err := parse(args, maxDepth); err != nil { // what was inside strings may nest too deep now
			return Checked{}, invalid(spec, "%w", err)
		}
	}
	if more := len(r.notes) - maxNotes; more > 0 {
		r.notes = append(r.notes[:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return Checked{Args: complete(c, fixed, args), Repaired: r.notes}, nil
}

// maxNotes bounds how many repairs are told.
const maxNotes = 50

// complete fills defaults into valid arguments. It returns args where there was nothing to fill in.
func complete(c *compiled, value any, args json.RawMessage) json.RawMessage {
	if !c.defaults {
		return args
	}
	full, changed := fill([]target{c.root}, value, 0)
	if work := maxWork; !changed || c.risky && !c.valid(c.root, full, &work) {
		return args
	}
	return appendJSON(make([]byte, 0, len(args)+64), full)
}

// CheckOutput returns an error that names how the value does not match the spec's output schema. A spec without one
// allows every value.
func (v *Validator) CheckOutput(spec *tongs.Spec, value json.RawMessage) error {
	if spec.Output == nil {
		return nil
	}
	c, err := v.cache.get(spec.Output)
	if err != nil {
		return fmt.Errorf("output schema of %s: %w", spec.Name, err)
	}
	doc, err := parse(value, maxOutputDepth)
	if err != nil {
		return fmt.Errorf("value of %s: %w", spec.Name, err)
	}
	if c.quick.accepts(doc.value) {
		return nil
	}
	work := 10 * maxWork // values are larger than arguments, and nobody hostile chose both
	mismatch := c.validate(c.root, doc.value, &work)
	if mismatch == nil {
		return nil
	}
	const shown = 5
	r := &repairer{}
	var lines []string
	for i, f := range r.fields(c, doc.value, mismatch) {
		if i == shown {
			lines = append(lines, "and more")
			break
		}
		if f.Value == "null" {
			f.Message += " (a nil slice or map is null: make it empty, or omit it)"
		}
		lines = append(lines, f.Message)
	}
	return fmt.Errorf("value of %s does not match its output schema: %s", spec.Name, strings.Join(lines, "; "))
}

// Compile reports whether the spec's schemas can be used.
func (v *Validator) Compile(spec *tongs.Spec) error {
	var errs []error
	for what, s := range map[string]*source.Schema{"input": spec.Input, "output": spec.Output} {
		if s == nil {
			continue
		}
		if _, err := v.cache.get(s); err != nil {
			errs = append(errs, fmt.Errorf("%s schema of %s: %w", what, spec.Name, err))
		}
	}
	return errors.Join(errs...)
}

func invalid(spec *tongs.Spec, format string, args ...any) *tongs.Error {
	return tongs.Errorf(tongs.CodeInvalidArgs, "arguments of %s: %w", spec.Name, fmt.Errorf(format, args...))
}
