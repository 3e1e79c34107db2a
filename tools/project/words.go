package project

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"mvdan.cc/sh/v3/syntax"

	"github.com/tongs-ai/tongs"
)

// bound says in the schema how long a call may take.
func (o Options) bound(input *jsonschema.Schema) {
	timeout, most := input.Properties["timeout"], o.MaxTimeout.Seconds()
	timeout.Description = fmt.Sprintf("Seconds until killed; default %g.", o.Timeout.Seconds())
	timeout.Maximum = &most
}

// plainWords splits a command of a package's script into words. It reports false where a shell would do anything but split it.
func plainWords(command string) (words []string, ok bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil, false
	}
	stmt := file.Stmts[0]
	call, isCall := stmt.Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 || stmt.Negated || stmt.Background {
		return nil, false
	}
	for _, w := range call.Args {
		text, ok := plainWord(w)
		if !ok {
			return nil, false
		}
		words = append(words, text)
	}
	return words, len(words) > 0
}

func plainWord(w *syntax.Word) (text string, ok bool) {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, `\*?[~{`) {
				return "", false
			}
			text += part.Value
		case *syntax.SglQuoted:
			text += part.Value
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || strings.Contains(lit.Value, `\`) {
					return "", false
				}
				text += lit.Value
			}
		default:
			return "", false
		}
	}
	return text, true
}

// shown spells a command so that one sees where each word ends.
func shown(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		quoted, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			quoted = fmt.Sprintf("%q", w)
		}
		if len(quoted) > 300 {
			quoted = quoted[:300] + "..."
		}
		words[i] = quoted
	}
	return strings.Join(words, " ")
}

// notOption refuses a value that a program would take for an option.
func notOption(what, value string) error {
	if strings.HasPrefix(value, "-") {
		return tongs.Errorf(tongs.CodeInvalidArgs, "%s is %q: it cannot begin with a dash", what, value)
	}
	if strings.IndexByte(value, 0) >= 0 {
		return tongs.Errorf(tongs.CodeInvalidArgs, "%s holds a NUL byte", what)
	}
	return nil
}
