// Package tools holds the tool families, one folder each: files, search, shell, code, web, undo and todo.
//
// A tool acts only through the Env that it is given. Package tooltest is the suite that every tool passes. Package serve
// is for Go modules that define tools of their own.
package tools
