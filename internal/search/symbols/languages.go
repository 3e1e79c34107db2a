package symbols

import "sync"

// language is how a language declares things.
type language struct {
	name string
	lexis
	// keywords are the words that declare something, and what; modifiers are the words that may stand before them.
	keywords  map[string]Kind
	modifiers map[string]bool
	// joins are the bytes that may join the parts of a declared name, as the dot in Ruby's self.name.
	joins string
	// tails are the bytes that may end a name: ? and ! in Ruby.
	tails string
	// shapes finds functions by their shape, name(...) {, prototypes those without a body at the outermost level.
	shapes, prototypes bool
	// strict has classes declared only where a body follows: struct x y; declares nothing in C.
	strict bool
	// fold has keywords count in any case.
	fold bool
	// properties finds fields and properties behind modifiers in a class: public int Count { get; }.
	properties bool
	// special looks at a line that no keyword begins.
	special func(r *reader, line []byte) (Definition, bool)
}

var (
	single1 = quote{open: "'", close: "'", escape: true}
	double1 = quote{open: `"`, close: `"`, escape: true}
	double3 = quote{open: `"""`, close: `"""`, escape: true, lines: true}
	single3 = quote{open: "'''", close: "'''", escape: true, lines: true}
	plain   = quote{open: "'", close: "'", lines: true}
	tall    = quote{open: `"`, close: `"`, escape: true, lines: true}

	cLike = lexis{line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: []quote{double1, single1}}
)

// all are the languages, made when the first file is looked at.
var all = sync.OnceValue(func() map[string]*language {
	m := map[string]*language{}
	for _, list := range [][]*language{cFamily(), braces(), scripts(), others()} {
		for _, l := range list {
			m[l.name] = l
		}
	}
	return m
})

func kinds(k Kind, words ...string) map[string]Kind {
	m := map[string]Kind{}
	for _, w := range words {
		m[w] = k
	}
	return m
}

func join(maps ...map[string]Kind) map[string]Kind {
	all := map[string]Kind{}
	for _, m := range maps {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

func words(list ...string) map[string]bool {
	m := map[string]bool{}
	for _, w := range list {
		m[w] = true
	}
	return m
}

// modifiers returns the words that may stand before a declaration in languages with braces, but for some.
func modifiers(but ...string) map[string]bool {
	m := words(
		"public", "private", "protected", "internal", "static", "final", "abstract", "sealed", "open", "override", "virtual", "async",
		"partial", "readonly", "inline", "const", "export", "default", "declare", "synchronized", "native", "strictfp", "transient", "volatile",
		"unsafe", "extern", "new", "required", "suspend", "data", "inner", "infix", "operator", "tailrec", "lateinit", "external", "annotation",
		"value", "expect", "actual", "companion", "fileprivate", "mutating", "nonmutating", "convenience", "dynamic", "indirect", "lazy", "weak",
		"optional", "nonisolated", "isolated", "implicit", "case", "typedef", "constexpr", "consteval", "friend", "explicit", "template", "pub", "move", "auto",
		"get", "set", "non-sealed", "fixed", "late", "covariant", "factory", "var", "noexport", "ref", "file",
	)
	for _, w := range but {
		delete(m, w)
	}
	return m
}

// cFamily are the languages whose functions are known by their shape.
func cFamily() []*language {
	class := kinds(Class, "class")
	types := join(class, kinds(Struct, "struct"), kinds(Interface, "interface"), kinds(Enum, "enum"))
	c := lexis{line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: []quote{double1, single1}, flags: flags{cppRaw: true}}
	triple := cLike
	triple.quotes = []quote{double3, double1, single1}
	js := lexis{
		line: []string{"//"}, block: [2]string{"/*", "*/"}, flags: flags{regexes: true},
		quotes: []quote{double1, single1, {open: "`", close: "`", escape: true, lines: true}},
	}
	sharp := triple
	sharp.verbatim = true
	dart := lexis{line: []string{"//"}, block: [2]string{"/*", "*/"}, nested: true, quotes: []quote{double3, single3, double1, single1}}
	script := join(class, kinds(Interface, "interface"), kinds(Enum, "enum"), kinds(Function, "function"), kinds(Module, "namespace", "module"),
		kinds(Type, "type"), kinds(Constant, "const"), kinds(Variable, "let", "var"))
	return []*language{
		{
			name: "c", lexis: c, strict: true, shapes: true, prototypes: true, joins: ":", modifiers: modifiers("const", "new", "value", "data", "get", "set", "case", "file", "open"),
			keywords: join(types, kinds(Struct, "union"), kinds(Module, "namespace"), kinds(Type, "concept"), kinds(Class, "@interface", "@implementation", "@protocol")),
		},
		{
			name: "java", lexis: triple, strict: true, shapes: true, properties: true, modifiers: modifiers("new", "case", "get", "set", "data", "value", "file", "open"),
			keywords: join(types, kinds(Class, "record"), kinds(Interface, "@interface"), kinds(Class, "trait")),
		},
		{
			name: "csharp", lexis: sharp, strict: true, shapes: true, properties: true, joins: ".", modifiers: modifiers("case", "get", "set", "data", "value", "open"),
			keywords: join(types, kinds(Class, "record"), kinds(Module, "namespace"), kinds(Type, "delegate"), kinds(Field, "event")),
		},
		{
			name: "javascript", lexis: js, shapes: true, keywords: script, joins: ".", modifiers: modifiers("const", "var", "new", "case", "module", "data", "value", "file", "open"),
			special: property,
		},
		{
			name: "dart", lexis: dart, shapes: true, strict: true, modifiers: modifiers("new", "case", "data", "value", "file", "open"),
			keywords: join(class, kinds(Class, "mixin"), kinds(Enum, "enum"), kinds(outer, "extension"), kinds(Type, "typedef")),
		},
	}
}

// braces are the other languages with braces.
func braces() []*language {
	class := kinds(Class, "class")
	types := join(class, kinds(Struct, "struct"), kinds(Interface, "interface"), kinds(Enum, "enum"))
	nested := cLike
	nested.nested = true
	triple := cLike
	triple.quotes = []quote{double3, double1, single1}
	nestedTriple := triple
	nestedTriple.nested = true
	swift := lexis{
		line: []string{"//"}, block: [2]string{"/*", "*/"}, nested: true, quotes: []quote{double3, double1}, flags: flags{rawHashes: true},
	}
	rust := lexis{
		line: []string{"//"}, block: [2]string{"/*", "*/"}, nested: true, quotes: []quote{tall, single1}, flags: flags{tick: true, rawHashes: true},
	}
	php := lexis{
		line: []string{"//", "#"}, block: [2]string{"/*", "*/"}, quotes: []quote{{open: `"`, close: `"`, escape: true, lines: true}, {open: "'", close: "'", escape: true, lines: true}},
		flags: flags{heredocs: "<<<"},
	}
	return []*language{
		{
			name: "kotlin", lexis: nestedTriple, joins: ".", modifiers: modifiers("var", "new", "get", "set"),
			keywords: join(kinds(Class, "class", "object"), kinds(Enum, "enum"), kinds(Interface, "interface"), kinds(Function, "fun"), kinds(Variable, "val", "var"), kinds(Type, "typealias")),
		},
		{
			name: "scala", lexis: nestedTriple, modifiers: modifiers("new", "get", "set", "var"),
			keywords: join(kinds(Class, "class", "object"), kinds(Interface, "trait"), kinds(Enum, "enum"), kinds(Function, "def"), kinds(Variable, "val", "var"), kinds(Type, "type")),
		},
		{
			name: "swift", lexis: swift, joins: ".", modifiers: modifiers("const", "var", "case", "get", "set", "data", "value"),
			keywords: join(kinds(Class, "class", "actor"), kinds(Struct, "struct"), kinds(Enum, "enum"), kinds(Interface, "protocol"), kinds(Function, "func"),
				kinds(Variable, "let", "var"), kinds(Type, "typealias", "associatedtype"), kinds(outer, "extension"), kinds(Macro, "macro")),
		},
		{
			name: "rust", lexis: rust, modifiers: modifiers("const", "static", "value", "data", "get", "set", "case", "new"),
			keywords: join(kinds(Function, "fn"), kinds(Struct, "struct", "union"), kinds(Enum, "enum"), kinds(Interface, "trait"), kinds(Module, "mod"),
				kinds(Constant, "const"), kinds(Variable, "static"), kinds(Type, "type"), kinds(Macro, "macro_rules"), kinds(outer, "impl")),
		},
		{
			name: "php", lexis: php, modifiers: modifiers("const", "var", "new", "case", "get", "set"),
			keywords: join(class, kinds(Interface, "interface"), kinds(Class, "trait"), kinds(Enum, "enum"), kinds(Function, "function"), kinds(Constant, "const")),
		},
		{name: "go", lexis: cLike, modifiers: words(), keywords: join(kinds(Function, "func"), kinds(Type, "type"), kinds(Constant, "const"), kinds(Variable, "var"))},
		{name: "zig", lexis: cLike, modifiers: words("pub", "export", "inline", "extern", "threadlocal"), keywords: join(kinds(Function, "fn"), kinds(Constant, "const"), kinds(Variable, "var"))},
		{
			name: "solidity", lexis: cLike, modifiers: words("abstract"),
			keywords: join(types, kinds(Class, "contract", "library"), kinds(Function, "function", "modifier"), kinds(Type, "event", "error")),
		},
		{
			name: "proto", lexis: nested, modifiers: words(),
			keywords: join(kinds(Struct, "message"), kinds(Interface, "service"), kinds(Enum, "enum"), kinds(Method, "rpc"), kinds(outer, "extend")),
		},
	}
}

// scripts are the languages that go by indentation, or by words such as end.
func scripts() []*language {
	hash := []string{"#"}
	python := lexis{line: hash, quotes: []quote{double3, single3, double1, single1}}
	ruby := lexis{line: hash, quotes: []quote{double1, single1}, docs: [2]string{"=begin", "=end"}, flags: flags{hashWord: true, heredocs: "<<"}}
	shell := lexis{line: hash, quotes: []quote{tall, plain}, flags: flags{hashWord: true, heredocs: "<<"}}
	perl := lexis{line: hash, quotes: []quote{double1, single1}, docs: [2]string{"=", "=cut"}, flags: flags{hashWord: true, heredocs: "<<"}}
	lua := lexis{line: []string{"--"}, block: [2]string{"--[[", "]]"}, quotes: []quote{double1, single1, {open: "[[", close: "]]", lines: true}}}
	elixir := lexis{line: hash, quotes: []quote{double3, single3, double1, single1}}
	julia := lexis{line: hash, block: [2]string{"#=", "=#"}, nested: true, quotes: []quote{double3, double1}}
	return []*language{
		{name: "python", lexis: python, modifiers: words("async", "cdef", "cpdef"), keywords: join(kinds(Function, "def"), kinds(Class, "class"), kinds(Type, "type")), special: assigned("=")},
		{
			name: "ruby", lexis: ruby, joins: ".:", tails: "?!=", modifiers: words("private", "public", "protected", "private_class_method", "memoize"),
			keywords: join(kinds(Function, "def"), kinds(Class, "class"), kinds(Module, "module")), special: assigned("="),
		},
		{name: "shell", lexis: shell, modifiers: words(), keywords: kinds(Function, "function"), joins: "-.:", special: shellFunction},
		{name: "perl", lexis: perl, joins: ":", modifiers: words(), keywords: join(kinds(Function, "sub"), kinds(Module, "package"))},
		{name: "lua", lexis: lua, joins: ".:", modifiers: words("local"), keywords: kinds(Function, "function"), special: assigned("= function", "=function")},
		{
			name: "elixir", lexis: elixir, joins: ".", tails: "?!", modifiers: words(),
			keywords: join(kinds(Module, "defmodule", "defprotocol", "defimpl"), kinds(Function, "def", "defp"), kinds(Macro, "defmacro", "defmacrop", "defguard")),
		},
		{
			name: "julia", lexis: julia, joins: ".", tails: "!", modifiers: words("mutable", "abstract", "primitive"),
			keywords: join(kinds(Function, "function"), kinds(Struct, "struct"), kinds(Type, "type"), kinds(Module, "module"), kinds(Macro, "macro"), kinds(Constant, "const")),
		},
		{name: "nim", lexis: lexis{line: hash, quotes: []quote{double3, double1}}, modifiers: words(), keywords: kinds(Function, "proc", "func", "method", "template", "macro", "iterator")},
		{name: "r", lexis: lexis{line: hash, quotes: []quote{double1, single1}}, modifiers: words(), special: assigned("<- function", "= function", "<-function", "=function")},
		{name: "powershell", lexis: lexis{line: hash, block: [2]string{"<#", "#>"}, quotes: []quote{double1, plain}}, fold: true, joins: "-:", modifiers: words(), keywords: join(kinds(Function, "function", "filter"), kinds(Class, "class"), kinds(Enum, "enum"))},
	}
}

// others are languages with rules of their own.
func others() []*language {
	sql := lexis{line: []string{"--"}, block: [2]string{"/*", "*/"}, quotes: []quote{plain}}
	lisp := lexis{line: []string{";"}, quotes: []quote{tall}}
	haskell := lexis{line: []string{"--"}, block: [2]string{"{-", "-}"}, nested: true, quotes: []quote{double1, single1}, flags: flags{tick: true}}
	ml := lexis{block: [2]string{"(*", "*)"}, nested: true, quotes: []quote{tall, single1}, flags: flags{tick: true}}
	return []*language{
		{name: "sql", lexis: sql, fold: true, special: sqlCreate},
		{name: "lisp", lexis: lisp, special: lispForm},
		{
			name: "haskell", lexis: haskell, special: signature, modifiers: words(),
			keywords: join(kinds(Type, "data", "newtype", "type"), kinds(Interface, "class"), kinds(Module, "module")),
		},
		{
			name: "ocaml", lexis: ml, modifiers: words("rec", "and", "nonrec", "private", "member", "inline"),
			keywords: join(kinds(Function, "let"), kinds(Type, "type"), kinds(Module, "module"), kinds(Class, "class"), kinds(Function, "val")),
		},
		{
			name: "graphql", lexis: lexis{line: []string{"#"}, quotes: []quote{double3, double1}}, modifiers: words("extend"),
			keywords: join(kinds(Type, "type", "input", "union", "scalar"), kinds(Interface, "interface"), kinds(Enum, "enum"), kinds(Function, "query", "mutation", "fragment")),
		},
		{name: "make", lexis: lexis{line: []string{"#"}}, special: makeTarget},
		{name: "markdown", special: heading},
	}
}

// extensions name the language by the end of a file's name, fileNames by all of it, interpreters by its first line.
var (
	extensions = map[string]string{
		"go": "go", "c": "c", "h": "c", "cc": "c", "cpp": "c", "cxx": "c", "hh": "c", "hpp": "c", "hxx": "c", "inl": "c", "m": "c", "mm": "c", "cu": "c",
		"java": "java", "groovy": "java", "gradle": "java", "cs": "csharp", "js": "javascript", "jsx": "javascript", "mjs": "javascript", "cjs": "javascript",
		"ts": "javascript", "tsx": "javascript", "mts": "javascript", "cts": "javascript", "vue": "javascript", "svelte": "javascript",
		"dart": "dart", "kt": "kotlin", "kts": "kotlin", "scala": "scala", "sc": "scala", "swift": "swift", "rs": "rust", "php": "php", "zig": "zig", "sol": "solidity",
		"proto": "proto", "py": "python", "pyi": "python", "pyx": "python", "rb": "ruby", "rake": "ruby", "gemspec": "ruby", "sh": "shell", "bash": "shell", "zsh": "shell",
		"ksh": "shell", "bats": "shell", "pl": "perl", "pm": "perl", "lua": "lua", "ex": "elixir", "exs": "elixir", "jl": "julia", "nim": "nim", "r": "r",
		"ps1": "powershell", "psm1": "powershell", "sql": "sql", "lisp": "lisp", "cl": "lisp", "el": "lisp", "clj": "lisp", "cljs": "lisp", "cljc": "lisp", "scm": "lisp",
		"rkt": "lisp", "hs": "haskell", "ml": "ocaml", "mli": "ocaml", "fs": "ocaml", "graphql": "graphql", "gql": "graphql", "mk": "make", "md": "markdown",
		"markdown": "markdown",
	}
	fileNames    = map[string]string{"makefile": "make", "gnumakefile": "make", "rakefile": "ruby", "gemfile": "ruby", "jenkinsfile": "java"}
	interpreters = map[string]string{
		"sh": "shell", "bash": "shell", "zsh": "shell", "dash": "shell", "ksh": "shell", "python": "python", "ruby": "ruby", "node": "javascript", "perl": "perl",
		"php": "php", "lua": "lua", "Rscript": "r", "pwsh": "powershell",
	}
)
