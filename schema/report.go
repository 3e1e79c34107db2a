package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/nearest"
)

const (
	// maxFields bounds how many wrong fields one error names.
	maxFields = 50
	// maxWords bounds how many names or values are listed for one field.
	maxWords = 20
	// maxPath bounds the paths that are shown.
	maxPath = 200
)

// report returns the INVALID_ARGS error for arguments that failed validation with err.
func (r *repairer) report(spec *tongs.Spec, c *compiled, value any, err error) error {
	return failure(spec, r.fields(c, value, err))
}

func failure(spec *tongs.Spec, fields []Field) error {
	total, more := len(fields), ""
	if len(fields) > maxFields {
		more = fmt.Sprintf("\n- and %d more", total-maxFields)
		fields = fields[:maxFields]
	}
	if len(fields) == 1 {
		return invalid(spec, "%s", fields[0].Message).With("fields", fields)
	}
	lines := make([]string, len(fields))
	for i, f := range fields {
		lines[i] = "\n- " + f.Message
	}
	return tongs.Errorf(tongs.CodeInvalidArgs, "%d arguments of %s are wrong:%s%s",
		total, spec.Name, strings.Join(lines, ""), more).With("fields", fields)
}

// reporter turns a tree of validation errors into fields.
type reporter struct {
	*repairer
	c     *compiled
	value any
	out   []Field
	depth int
}

func (r *repairer) fields(c *compiled, value any, err error) []Field {
	root, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []Field{{Message: err.Error()}}
	}
	rep := &reporter{repairer: r, c: c, value: value}
	rep.walk(root)
	slices.SortStableFunc(rep.out, func(a, b Field) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(rep.out, func(a, b Field) bool { return a == b })
}

func (r *reporter) walk(e *jsonschema.ValidationError) {
	at, value := r.locate(e.InstanceLocation)
	s := r.c.at[e.SchemaURL]
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			r.missing(s, at, name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			r.unknown(s, at, name, value)
		}
	case *kind.AnyOf:
		r.union(e, s, at, value, "matches none of the allowed forms")
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			r.wrong(at, value, describe(s), "matches more than one of the allowed forms")
		} else {
			r.union(e, s, at, value, "matches none of the allowed forms")
		}
	case *kind.Enum:
		r.enum(k, at, value)
	case *kind.Type:
		want := describe(s)
		if s == nil {
			want = strings.Join(k.Want, " or ")
		}
		r.wrong(at, value, want, "")
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			r.walk(cause)
		}
	case *kind.Format, *kind.Pattern, *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum, *kind.ExclusiveMaximum,
		*kind.MultipleOf, *kind.MinLength, *kind.MaxLength, *kind.MinItems, *kind.MaxItems, *kind.Const:
		r.wrong(at, value, describe(s), "")
	case *kind.FalseSchema:
		r.wrong(at, value, "", "is not allowed here")
	default:
		r.wrong(at, value, "", k.LocalizedString(message.NewPrinter(language.English)))
	}
}

// locate follows a location into the value and spells it as a path.
func (r *reporter) locate(location []string) (at string, value any) {
	value = r.value
	for _, token := range location {
		switch v := value.(type) {
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return at, nil
			}
			at, value = index(at, i), v[i]
		case map[string]any:
			at, value = join(at, token), v[token]
		}
	}
	return at, value
}

func (r *reporter) add(f Field) {
	name := bound(f.Path, maxPath)
	if name == "" {
		name = "the arguments"
	}
	if len(r.out) < maxFields { // more are counted, not told
		if given := find(r.given, f.Path); given != "" {
			name += " (given as " + quote(given) + ")"
		}
	}
	f.Path, f.Message = bound(f.Path, maxPath), name+": "+f.Message
	r.out = append(r.out, f)
}

// wrong adds a field whose value is not what is wanted, and why where that is not plain.
func (r *reporter) wrong(at string, value any, want, why string) {
	said := "got " + show(value)
	if why != "" {
		said += ", which " + why
	}
	if want != "" {
		said += ", want " + want
	}
	r.add(Field{Path: at, Value: show(value), Want: want, Message: said})
}

func (r *reporter) missing(s target, at, name string) {
	want := ""
	if s != nil {
		want = describe(s.Properties[name])
	}
	said := "is required but missing"
	if want != "" {
		said += ", want " + want
	}
	r.add(Field{Path: join(at, bound(name, maxShown)), Want: want, Message: said})
}

func (r *reporter) unknown(s target, at, name string, object any) {
	value := ""
	if o, ok := object.(map[string]any); ok {
		value = show(o[name])
	}
	path := join(at, name)
	f := Field{Path: join(at, bound(name, maxShown)), Value: value}
	if len(r.out) >= maxFields { // it is counted, not told
		f.Message = "unknown property"
		r.add(f)
		return
	}
	if meant := find(r.conflicts, path); meant != "" {
		f.Want = "only " + meant
		f.Message = fmt.Sprintf("got %s, but it means %s, which is given too with another value; give only %s",
			value, meant, meant)
		r.add(f)
		return
	}
	f.Message = "unknown property"
	if s != nil && len(s.Properties) > 0 {
		names := sortedKeys(s.Properties)
		candidates := slices.Clone(names)
		way := aliasPrefix(at)
		for _, alias := range sortedKeys(r.aliases) {
			if last, ok := strings.CutPrefix(alias, way); ok && !strings.Contains(last, ".") {
				candidates = append(candidates, last)
			}
		}
		near := nearest.Word(name, candidates)
		if meant := r.aliases[way+near]; meant != "" {
			near = meant
		}
		if near != "" {
			f.Want = near
			f.Message += "; did you mean " + near + "?"
		} else {
			f.Want = "one of " + list(names)
			f.Message += "; known are " + list(names)
		}
	}
	r.add(f)
}

func (r *reporter) enum(k *kind.Enum, at string, value any) {
	want := describeValues(k.Want)
	f := Field{Path: at, Value: show(value), Want: want, Message: "got " + show(value) + ", want " + want}
	if text, ok := value.(string); ok {
		var words []string
		for _, v := range k.Want {
			if word, ok := v.(string); ok {
				words = append(words, word)
			}
		}
		if near := nearest.Word(text, words); near != "" {
			f.Message += "; did you mean " + quote(near) + "?"
		}
	}
	r.add(f)
}

// maxNesting bounds how deep the reports of alternatives go.
const maxNesting = 16

// union reports a value that matches no alternative: what the one that it was meant for found wrong, if the others
// want another type altogether.
func (r *reporter) union(e *jsonschema.ValidationError, s target, at string, value any, why string) {
	var near []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		if _, otherType := cause.ErrorKind.(*kind.Type); !otherType ||
			len(cause.InstanceLocation) != len(e.InstanceLocation) {
			near = append(near, cause)
		}
	}
	if len(near) == 1 && r.depth < maxNesting {
		r.depth++
		r.walk(near[0])
		r.depth--
		return
	}
	r.wrong(at, value, describe(s), why)
}

func list(words []string) string {
	if len(words) > maxWords {
		return strings.Join(words[:maxWords], ", ") + fmt.Sprintf(" and %d more", len(words)-maxWords)
	}
	return strings.Join(words, ", ")
}
