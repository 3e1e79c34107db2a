package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/nearest"
)

// maxVisits bounds the work of one repair: alternatives inside alternatives multiply.
const maxVisits = 20_000

// repairer mends what a value has wrong. Values are never changed in place, so that an attempt can be dropped.
type repairer struct {
	c       *compiled
	aliases map[string]string
	// budget is how many values may still be visited, work what may still be spent on validation.
	budget, work int
	history
	// keep is the path of a string that must stay one, since some alternative allows strings.
	keep *string
}

// history is what a repairer did so far. It only grows, so that an attempt can be taken back.
type history struct {
	// notes says what was repaired.
	notes []string
	// given has the name that a property was given by, conflicts the declared property that an unknown one means and
	// that was given too.
	given, conflicts []meaning
}

// meaning is a property at a path, and another name for it.
type meaning struct{ path, name string }

// since returns what came after an earlier state, and takes it back.
func (h *history) since(before history) (after history) {
	after = history{
		slices.Clone(h.notes[len(before.notes):]),
		slices.Clone(h.given[len(before.given):]), slices.Clone(h.conflicts[len(before.conflicts):]),
	}
	*h = before
	return after
}

func (h *history) add(more history) {
	h.notes = append(h.notes, more.notes...)
	h.given = append(h.given, more.given...)
	h.conflicts = append(h.conflicts, more.conflicts...)
}

func find(list []meaning, path string) string {
	for _, m := range list {
		if m.path == path {
			return m.name
		}
	}
	return ""
}

func newRepairer(c *compiled, spec *tongs.Spec) *repairer {
	return &repairer{c: c, aliases: spec.ArgAliases, budget: maxVisits, work: maxWork}
}

func (r *repairer) valid(targets []target, v any) bool {
	for _, s := range targets {
		if !r.c.valid(s, v, &r.work) {
			return false
		}
	}
	return true
}

func (r *repairer) note(at, format string, args ...any) {
	sentence := fmt.Sprintf(format, args...)
	if at != "" {
		sentence = bound(at, maxPath) + ": " + sentence
	}
	r.notes = append(r.notes, sentence)
}

// object returns the arguments as an object, which may be inside a string.
func (r *repairer) object(v any) (map[string]any, bool) {
	if text, ok := v.(string); ok {
		if inner, ok := insideString(text); ok {
			if object, ok := inner.(map[string]any); ok {
				r.note("", "the arguments were a JSON object inside a string")
				return object, true
			}
		}
	}
	object, ok := v.(map[string]any)
	return object, ok
}

// insideString parses a string that holds a JSON object or array.
func insideString(text string) (any, bool) {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return nil, false
	}
	doc, err := parse([]byte(trimmed), maxDepth)
	return doc.value, err == nil
}

// wrappers are the names, folded, under which models put the arguments when they should be the arguments.
var wrappers = []string{"arguments", "args", "input", "parameters", "params", "toolinput", "toolargs"}

// unwrap takes the content of a single wrapper for the arguments, if that makes them valid.
func unwrap(spec *tongs.Spec, c *compiled, object map[string]any) (fixed any, notes []string, ok bool) {
	if len(object) != 1 {
		return nil, nil, false
	}
	name := sortedKeys(object)[0]
	all := views([]target{c.root})
	r := newRepairer(c, spec)
	if _, means := r.intendedProperty(properties(all), name, ""); means || known(all, name) ||
		!slices.Contains(wrappers, nearest.Fold(name)) {
		return nil, nil, false
	}
	r.note(name, "its content was taken as the arguments")
	inner, ok := r.object(object[name])
	if !ok || len(inner) == 0 {
		return nil, nil, false
	}
	fixed = r.fix([]target{c.root}, inner, "", 0)
	return fixed, r.notes, r.valid([]target{c.root}, fixed)
}

// fix returns v, repaired where that is unambiguous, or as it is.
func (r *repairer) fix(targets []target, v any, at string, depth int) any {
	r.budget--
	if r.budget < 0 || depth > maxDepth || len(targets) == 0 {
		return v
	}
	all := views(targets)
	switch value := v.(type) {
	case map[string]any:
		if allows(all, kindOf("object")) {
			v = r.fixObject(all, value, at, depth)
		}
	case []any:
		if allows(all, kindOf("array")) {
			v = r.fixItems(all, value, at, depth)
		}
	case json.Number:
		v = r.fixNumber(all, value, at)
	}
	if branches, ok := union(all); ok {
		return r.fixUnion(targets, all, branches, v, at, depth)
	}
	if contained(v) && allows(all, kindOfValue(v)) || r.valid(targets, v) {
		return v
	}
	return r.convert(targets, all, v, at, depth)
}

func contained(v any) bool {
	k := kindOfValue(v)
	return k == kindOf("object") || k == kindOf("array")
}

// union returns the alternatives of the views, nil where there is more than one set of them.
func union(all []target) (branches []target, any bool) {
	for _, s := range all {
		for _, set := range [][]target{s.AnyOf, s.OneOf} {
			if len(set) == 0 {
				continue
			}
			if any {
				return nil, true
			}
			branches, any = set, true
		}
	}
	return branches, any
}

// fixUnion repairs a value that is to match alternatives, if exactly one of them can be met.
func (r *repairer) fixUnion(targets, all, branches []target, v any, at string, depth int) any {
	if r.valid(targets, v) {
		return v
	}
	keep := r.keep
	if _, text := v.(string); text && keep == nil && allows(all, kindOf("string")) {
		r.keep = &at
	}
	defer func() { r.keep = keep }()
	var found any
	var did history
	matches := 0
	for _, branch := range branches {
		before := r.history
		fixed := r.fix([]target{branch}, v, at, depth+1)
		tried := r.since(before)
		if r.valid(targets, fixed) {
			matches++
			found, did = fixed, tried
		}
	}
	if matches != 1 || r.budget < 0 {
		return v
	}
	r.add(did)
	return found
}

func (r *repairer) fixItems(all []target, array []any, at string, depth int) any {
	out, changed := array, false
	for i, item := range array {
		notes := len(r.notes)
		fixed := r.fix(itemTargets(all, i), item, index(at, i), depth+1)
		if len(r.notes) == notes {
			continue
		}
		if !changed {
			out, changed = slices.Clone(array), true
		}
		out[i] = fixed
	}
	return out
}

func (r *repairer) fixObject(all []target, object map[string]any, at string, depth int) any {
	out := maps.Clone(object)
	declared := properties(all)
	if closed(all) {
		for _, name := range sortedKeys(object) {
			if !known(all, name) {
				r.rename(declared, out, name, at)
			}
		}
	}
	for _, name := range sortedKeys(declared) {
		if v, present := out[name]; present && v == nil && !required(all, name) && !r.valid(declared[name], nil) {
			delete(out, name)
			r.note(join(at, name), "null was taken as absent")
		}
	}
	for _, name := range sortedKeys(out) {
		out[name] = r.fix(propertyTargets(all, name), out[name], join(at, name), depth+1)
	}
	return out
}

// rename gives an unknown property the name that it means.
func (r *repairer) rename(declared map[string][]target, object map[string]any, name, at string) {
	meant, ok := r.intendedProperty(declared, name, at)
	if !ok {
		return
	}
	if other, both := object[meant]; both && !equal(other, object[name]) {
		r.conflicts = append(r.conflicts, meaning{join(at, name), meant})
		return
	}
	object[meant] = object[name]
	delete(object, name)
	r.given = append(r.given, meaning{join(at, meant), name})
	r.note(join(at, name), "was taken as %s", meant)
}

// intendedProperty returns the one declared property that the name is another spelling or an alias of.
func (r *repairer) intendedProperty(declared map[string][]target, name, at string) (string, bool) {
	way := aliasPrefix(at)
	if meant := r.aliases[way+name]; declared[meant] != nil {
		return meant, true
	}
	folded := nearest.Fold(name)
	meanings := map[string]bool{}
	for property := range declared {
		if nearest.Fold(property) == folded {
			meanings[property] = true
		}
	}
	for alias, property := range r.aliases {
		if last, ok := strings.CutPrefix(alias, way); ok && !strings.Contains(last, ".") && nearest.Fold(last) == folded && declared[property] != nil {
			meanings[property] = true
		}
	}
	if len(meanings) != 1 || folded == "" {
		return "", false
	}
	return sortedKeys(meanings)[0], true
}

func equal(a, b any) bool { return string(appendJSON(nil, a)) == string(appendJSON(nil, b)) }

// fixNumber writes a whole number as an integer where one is wanted: to JSON Schema 5.0 is an integer, to most
// programs it is not.
func (r *repairer) fixNumber(all []target, n json.Number, at string) any {
	whole, ok := wholeNumber(n)
	if !ok || whole == n || allows(all, kindOf("number")) || !allows(all, kindOf("integer")) {
		return n
	}
	r.note(at, "%s was read as %s", show(n), show(whole))
	return whole
}

var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// convert reads a value of a type that is not allowed as one that is, if there is exactly one way to.
func (r *repairer) convert(targets, all []target, v any, at string, depth int) any {
	text, isText := v.(string)
	if isText && (r.keep != nil && *r.keep == at || allows(all, kindOf("string"))) {
		return r.fixCase(targets, all, text, at)
	}
	if v == nil {
		return v
	}
	type candidate struct {
		value any
		did   history
	}
	var found []candidate
	try := func(value any) {
		before := r.history
		r.note(at, "%s was read as %s", show(v), show(value))
		if contained(value) {
			value = r.fix(targets, value, at, depth+1)
		}
		did := r.since(before)
		if r.valid(targets, value) {
			found = append(found, candidate{value, did})
		}
	}
	looksLikeJSON := false
	if isText {
		looksLikeJSON = r.readText(all, text, try)
	}
	if !looksLikeJSON && !isArray(v) && allows(all, kindOf("array")) {
		if items := itemTargets(all, 0); len(items) > 0 && r.valid(items, v) {
			try([]any{v})
		}
	}
	if len(found) != 1 || r.budget < 0 {
		return v
	}
	r.add(found[0].did)
	return found[0].value
}

func isArray(v any) bool {
	_, ok := v.([]any)
	return ok
}

// readText tries what a string may stand for, and reports whether it looks like a JSON object or array.
func (r *repairer) readText(all []target, text string, try func(any)) (looksLikeJSON bool) {
	switch {
	case plainNumber.MatchString(text) && checkNumber(text) == nil:
		n := json.Number(text)
		if allows(all, kindOf("number")) {
			try(n)
		} else if whole, ok := wholeNumber(n); ok && allows(all, kindOf("integer")) {
			try(whole)
		}
	case strings.EqualFold(text, "true") || strings.EqualFold(text, "false"):
		if b, err := strconv.ParseBool(strings.ToLower(text)); err == nil && allows(all, kindOf("boolean")) {
			try(b)
		}
	case strings.HasPrefix(strings.TrimSpace(text), "[") || strings.HasPrefix(strings.TrimSpace(text), "{"):
		looksLikeJSON = true
		if inner, ok := insideString(text); ok && allows(all, kindOfValue(inner)) {
			try(inner)
		}
	}
	return looksLikeJSON
}

// fixCase takes a string for the one allowed value that differs from it in case only.
func (r *repairer) fixCase(targets, all []target, text, at string) any {
	var found []string
	for _, s := range all {
		if s.Enum == nil {
			continue
		}
		for _, allowed := range s.Enum.Values {
			if word, ok := allowed.(string); ok && strings.EqualFold(word, text) && !slices.Contains(found, word) {
				found = append(found, word)
			}
		}
	}
	if len(found) != 1 || !r.valid(targets, found[0]) {
		return text
	}
	r.note(at, "%s was read as %s", quote(text), quote(found[0]))
	return found[0]
}

// join appends a property to a path.
func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

var indices = regexp.MustCompile(`\[[0-9]+\]`)

// aliasPrefix is what the aliases of the properties at a path begin with.
func aliasPrefix(at string) string {
	if at == "" {
		return ""
	}
	return indices.ReplaceAllString(at, "") + "."
}

// index appends an index to a path.
func index(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }
