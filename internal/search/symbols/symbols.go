// Package symbols finds the definitions in a source file: functions, types, constants and the like, each with its name,
// its kind, the lines it takes and what it is part of.
//
// Go is read by go/parser. Other languages are read line by line, once comments and the contents of strings are blanked
// out: a line declares something where it begins with a word that the language declares with, or has the shape of a
// function. What a definition is part of, and where it ends, follows from indentation. That is exact for code as people
// and formatters write it, takes no grammar, and goes through 40 to 120 MB a second. It says nothing about code that
// has no line structure, such as minified scripts.
//
// Nothing in a file is an error: what cannot be read defines nothing.
package symbols

import (
	"bytes"
	"path"
	"strings"
)

// Kind says what a definition defines.
type Kind string

// The kinds of definition. Heading is a heading of a document, Declaration one without a body, as in a header of C.
const (
	Function    Kind = "function"
	Method      Kind = "method"
	Type        Kind = "type"
	Class       Kind = "class"
	Struct      Kind = "struct"
	Interface   Kind = "interface"
	Enum        Kind = "enum"
	Constant    Kind = "const"
	Variable    Kind = "var"
	Field       Kind = "field"
	Module      Kind = "module"
	Macro       Kind = "macro"
	Table       Kind = "table"
	Target      Kind = "target"
	Heading     Kind = "heading"
	Declaration Kind = "declaration"

	// outer is not a definition but holds some, as an impl block of Rust does.
	outer Kind = ""
)

// holds reports whether definitions can be part of one of this kind.
func (k Kind) holds() bool {
	switch k {
	case Class, Struct, Interface, Enum, Module, Type, Heading, outer:
		return true
	}
	return false
}

// Definition is one thing that a file defines.
type Definition struct {
	Name string
	Kind Kind
	// Line is where it is defined, End the last line of it, Doc the first line of the comment, decorators or attributes
	// right above it, which is Line where there are none. Lines count from 1.
	Line, End, Doc int
	// Container is the name of what it is part of, empty for what stands on its own.
	Container string
}

// MaxDefinitions is how many definitions of a file are returned at most.
const MaxDefinitions = 20_000

// In returns the definitions in a file, in the order of their lines. The path says which language it is in, or, where it
// does not, the first line of the text. For a language that is not known it returns nil.
func In(name string, text []byte) []Definition {
	l := languageOf(name, text)
	if l == nil {
		return nil
	}
	if l.name == "go" {
		if list, ok := golang(text); ok {
			return list
		}
	}
	return l.read(text)
}

// Language returns the name of the language that a file is in, such as "python", empty where it is not known.
func Language(name string, text []byte) string {
	if l := languageOf(name, text); l != nil {
		return l.name
	}
	return ""
}

func languageOf(name string, text []byte) *language {
	base := strings.ToLower(path.Base(name))
	if n, ok := fileNames[base]; ok {
		return all()[n]
	}
	if n, ok := extensions[strings.TrimPrefix(path.Ext(base), ".")]; ok {
		return all()[n]
	}
	if !bytes.HasPrefix(text, []byte("#!")) {
		return nil
	}
	first, _, _ := bytes.Cut(text[:min(len(text), 256)], []byte("\n"))
	for word := range strings.FieldsFuncSeq(string(first), func(r rune) bool { return r == '/' || r == ' ' || r == '\t' || r == '\r' }) {
		if n, ok := interpreters[strings.TrimRight(word, "0123456789.")]; ok {
			return all()[n]
		}
	}
	return nil
}
