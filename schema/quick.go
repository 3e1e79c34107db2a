package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// quick is a plain schema in a form that most valid values are recognised by in little time. It only ever says that a
// value is certainly valid; every other value is for the validator proper.
type quick struct {
	// unsure is set for a schema with keywords that are not known here.
	unsure           bool
	types            jsonType // zero means any
	words            []string // the enum, of strings only
	properties       map[string]*quick
	required         []string
	closed           bool
	extra, items     *quick
	minLength        int
	maxLength        int
	minItems         int
	maxItems         int
	minimum, maximum int64
	bounded          bool
	// dateTime is set for a string that is a point in time.
	dateTime bool
}

var (
	typeNull, typeBoolean, typeString = kindOf("null"), kindOf("boolean"), kindOf("string")
	typeArray, typeObject             = kindOf("array"), kindOf("object")
	typeNumber, typeInteger           = kindOf("number"), kindOf("integer")
)

// quickOf returns the quick form of a compiled schema. Schemas may refer to themselves.
func quickOf(s target, made map[target]*quick) *quick {
	if s == nil {
		return nil
	}
	if q := made[s]; q != nil {
		return q
	}
	q := &quick{maxLength: math.MaxInt, maxItems: math.MaxInt, minimum: math.MinInt64, maximum: math.MaxInt64}
	made[s] = q
	if q.unsure = !plain(s); q.unsure {
		return q
	}
	if s.Types != nil {
		q.types = *s.Types
	}
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			word, ok := v.(string)
			q.unsure = q.unsure || !ok
			q.words = append(q.words, word)
		}
		q.unsure = q.unsure || q.types != typeString
	}
	q.dateTime = s.Format != nil
	q.required = s.Required
	q.properties = make(map[string]*quick, len(s.Properties))
	for name, property := range s.Properties {
		q.properties[name] = quickOf(property, made)
	}
	extra, _ := s.AdditionalProperties.(target)
	q.closed, q.extra = s.AdditionalProperties == false, quickOf(extra, made)
	q.items = quickOf(s.Items2020, made)
	q.bound(s)
	return q
}

// plain reports whether a schema has no keywords but those of quick.
func plain(s target) bool {
	_, isSchema := s.AdditionalProperties.(target)
	if s.AdditionalProperties != nil && s.AdditionalProperties != false && !isSchema || s.DraftVersion != 2020 {
		return false
	}
	return s.Bool == nil && s.Ref == nil && s.RecursiveRef == nil && s.DynamicRef == nil &&
		s.Const == nil && s.Not == nil && s.AllOf == nil && s.AnyOf == nil && s.OneOf == nil &&
		s.If == nil && (s.Format == nil || s.Format.Name == formatDateTime) && s.MaxProperties == nil && s.MinProperties == nil &&
		s.PropertyNames == nil && len(s.PatternProperties) == 0 && s.Dependencies == nil &&
		s.DependentRequired == nil && s.DependentSchemas == nil && s.UnevaluatedProperties == nil &&
		!s.UniqueItems && s.Contains == nil && s.MinContains == nil && s.MaxContains == nil &&
		s.Items == nil && s.PrefixItems == nil && s.UnevaluatedItems == nil && s.Pattern == nil &&
		s.ContentEncoding == nil && s.ContentMediaType == nil && s.ContentSchema == nil &&
		s.ExclusiveMaximum == nil && s.ExclusiveMinimum == nil && s.MultipleOf == nil &&
		len(s.Extensions) == 0
}

// formatDateTime is the one format that values of tools often have.
const formatDateTime = "date-time"

// isDateTime reports whether s is certainly a point in time, as programs write it: in UTC. The parser of the standard
// library allows more than the format does: an hour of one digit, and a comma for a point.
func isDateTime(s string) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || s[13] != ':' || s[len(s)-1] != 'Z' || strings.Contains(s, ",") {
		return false
	}
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// bound takes over bounds. Those that are no integers within range make the schema unsure.
func (q *quick) bound(s *jsonschema.Schema) {
	for _, b := range []struct {
		from *int
		to   *int
	}{{s.MinLength, &q.minLength}, {s.MaxLength, &q.maxLength}, {s.MinItems, &q.minItems}, {s.MaxItems, &q.maxItems}} {
		if b.from != nil {
			*b.to = *b.from
		}
	}
	if s.Minimum != nil {
		q.bounded, q.minimum = true, s.Minimum.Num().Int64()
		q.unsure = q.unsure || !s.Minimum.IsInt() || !s.Minimum.Num().IsInt64()
	}
	if s.Maximum != nil {
		q.bounded, q.maximum = true, s.Maximum.Num().Int64()
		q.unsure = q.unsure || !s.Maximum.IsInt() || !s.Maximum.Num().IsInt64()
	}
}

// accepts reports whether v is certainly valid.
func (q *quick) accepts(v any) bool {
	if q == nil {
		return true
	}
	if q.unsure {
		return false
	}
	switch v := v.(type) {
	case string:
		return q.has(typeString) && q.acceptsString(v)
	case json.Number:
		return q.acceptsNumber(string(v))
	case bool:
		return q.has(typeBoolean)
	case nil:
		return q.has(typeNull)
	case map[string]any:
		return q.has(typeObject) && q.acceptsObject(v)
	case []any:
		if !q.has(typeArray) || len(v) < q.minItems || len(v) > q.maxItems {
			return false
		}
		return q.items == nil || !slices.ContainsFunc(v, func(item any) bool { return !q.items.accepts(item) })
	default:
		return false
	}
}

func (q *quick) has(k jsonType) bool { return q.types == 0 || q.types&k != 0 }

func (q *quick) acceptsString(s string) bool {
	if q.words != nil && !slices.Contains(q.words, s) || q.dateTime && !isDateTime(s) {
		return false
	}
	if q.minLength == 0 && q.maxLength == math.MaxInt {
		return true
	}
	n := utf8.RuneCountInString(s)
	return n >= q.minLength && n <= q.maxLength
}

func (q *quick) acceptsNumber(literal string) bool {
	if !q.has(typeNumber) && !q.has(typeInteger) {
		return false
	}
	if q.has(typeNumber) && !q.bounded {
		return true
	}
	n, err := strconv.ParseInt(literal, 10, 64) // a fraction, an exponent or a great number is for the validator
	return err == nil && n >= q.minimum && n <= q.maximum
}

func (q *quick) acceptsObject(object map[string]any) bool {
	for _, name := range q.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, v := range object {
		property, declared := q.properties[name]
		switch {
		case declared && !property.accepts(v):
			return false
		case !declared && (q.closed || q.extra != nil && !q.extra.accepts(v)):
			return false
		}
	}
	return true
}
