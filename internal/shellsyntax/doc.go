// Package shellsyntax turns the text of a shell command into effects: what it would execute, read, write, delete and
// reach, as far as that can be told before it runs. Package policy then judges each effect; no rule ever looks at the
// text itself.
//
// # The model
//
// The text is parsed as bash does and walked as bash would run it: every simple command in lists, pipelines,
// subshells, loops, branches, functions, substitutions, here-documents and strings given to eval, trap and sh -c is
// one execute effect, with wrappers (env, timeout, xargs, find -exec, ...) taken off. Redirections and the arguments
// of well-known programs are path effects, relative to the directory that cd led to. Words are expanded as far as they
// are constant: literals, quotes, tildes, braces, and variables. Any other word becomes an argument that holds a NUL
// byte, behind what is known of its beginning: no program can be given such an argument, so no literal token of a rule
// is one, and package policy lets no pattern see past it.
//
// A variable is known only where one place in the whole text touches it and must have run before the use. It names a
// command only where that place is a plain assignment of a literal which runs once, whatever happens; loop variables,
// arguments and values made of others are known as arguments, and ask where they would say what runs. A builtin is not
// modelled: it touches what it names, and eval, source and the like touch everything.
//
// What git shows of its history is a read of the paths that its words name, and of .git where they name none: package
// workspace asks where the repository tracks a secret. Programs that only read do so with the options in their table.
//
// What cannot be read with certainty is an unknown effect and never free by a pattern: a command whose name is computed,
// code for an interpreter, an option that makes a program run another one, an option that is not known of a
// program that has such options, an assignment that changes what runs (PATH, LD_PRELOAD, GIT_*, ...), a path outside
// the roots. What cannot be parsed is an error: what nobody could read is not run.
//
// The variables that a program is given, beyond those that every program has, belong to its effect, whatever way they got
// there: package policy lets a pattern cover those that it names, and harmless ones.
//
// A workspace file that would execute is bound by its content, together with the files that its text plainly names as run
// or included: a hash over them is the version of the effect.
//
// What is too large is unknown too: more than 64 KiB of text, 1,000 commands (each iteration and call counts), 30,000
// words, 4,000 paths, or nesting beyond what a person writes. The time is bounded by these.
//
// The walk and the tables of programs share one state and so stand in one package, though it is a large one: a wrapper
// is followed by the same code as the command inside it.
//
// # What it does not see
//
//   - What a program does by itself. A rule for "make" or "go" is trust in what the workspace makes them do; the
//     sandbox contains it.
//   - Links met by a wildcard or below a directory: a path that is named is resolved, what a program finds is not.
//   - Configuration outside the command, such as aliases and hooks in a git configuration: protected names keep a model
//     from writing there.
//   - Changes between the analysis and the run, other than those that the command itself makes to what it executes.
//   - Programs that are not in the tables here: they are one execute effect, and their arguments are the rule's concern.
//   - Secrets that were tracked once and are no longer, where a command shows history without naming them.
package shellsyntax
