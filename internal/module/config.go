package module

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// The toolsets that configuration knows the tools by.
const (
	ToolsetCustom   = "custom"
	ToolsetExternal = "external"
)

// Config is one module as a person configured it: a file, or a package of npm.
type Config struct {
	// Module is the absolute path of a .ts, .js, .py or .go file.
	Module string
	// Package is one of npm, found from the directory Dir as Node finds it; Import is the export of it that holds the
	// tools, empty where it exports them itself.
	Package, Import, Dir string
	// Tools are the names to expose.
	Tools []string
	// Network are hosts that the module may reach, each decided like any other.
	Network []string
	// Timeout bounds a call; zero is that of the set.
	Timeout time.Duration
	// Origin is where it is configured, for people.
	Origin string
	// Disabled says why it may not be used, such as that nobody trusts the file that names it.
	Disabled string
}

// Toolset is what configuration knows the tools by.
func (c *Config) Toolset() string {
	if c.Package != "" {
		return ToolsetExternal
	}
	return ToolsetCustom
}

// language is what a module is written in.
type language string

const (
	javascript language = "javascript"
	python     language = "python"
	golang     language = "go"
)

// runtimes are the programs that languages need, and what to do where one is missing.
var runtimes = map[language]struct{ program, install string }{
	javascript: {"node", "install Node.js 20 or newer, from your system's packages or nodejs.org"},
	python:     {"python3", "install Python 3.10 or newer, from your system's packages or python.org"},
	golang:     {"go", "install Go, from your system's packages or go.dev"},
}

func (c *Config) language() (language, error) {
	if c.Package != "" {
		return javascript, nil
	}
	switch ext := strings.ToLower(filepath.Ext(c.Module)); ext {
	case ".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx":
		return javascript, nil
	case ".py":
		return python, nil
	case ".go":
		return golang, nil
	default:
		return "", configError("the module %s ends in %q; a module is a .ts, .js, .py or .go file", c.Module, ext)
	}
}

var (
	toolName    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	packageName = regexp.MustCompile(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$`)
)

// check reports what is wrong with the configuration.
func (c *Config) check() error {
	switch {
	case (c.Module == "") == (c.Package == ""):
		return configError("a module is named by either its file or its package (%s)", c.Origin)
	case c.Module != "" && !filepath.IsAbs(c.Module):
		return configError("the module %q is not an absolute path", c.Module)
	case c.Package != "" && (!packageName.MatchString(c.Package) || !filepath.IsAbs(c.Dir)):
		return configError("the package %q cannot be one of npm; write its name as in package.json", c.Package)
	}
	if _, err := c.language(); err != nil {
		return err
	}
	if len(c.Tools) == 0 {
		return configError("no tools of %s are listed, so that it exposes none; name them under tools (%s)", c.target(), c.Origin)
	}
	for _, name := range c.Tools {
		if !toolName.MatchString(name) {
			return configError("the tool %q of %s: a name has 1 to 64 letters, digits, _ and -", name, c.target())
		}
	}
	for _, host := range c.Network {
		if _, err := network.ParseTarget(host, 443); err != nil {
			return configError("%s: network: %w", c.target(), err)
		}
	}
	return nil
}

// target is the file or the package.
func (c *Config) target() string {
	if c.Package != "" {
		return c.Package
	}
	return c.Module
}

// key identifies the module among others: approvals of one are not those of another.
func (c *Config) key() string {
	sum := sha256.Sum256([]byte(c.Module + "\x00" + c.Package + "\x00" + c.Import + "\x00" + c.Dir))
	return hex.EncodeToString(sum[:16])
}

// label is what people call the module: its path in the workspace, or its package.
func (c *Config) label(workspace string) string {
	if c.Package != "" {
		return c.Package
	}
	if rel, err := filepath.Rel(workspace, c.Module); err == nil && workspace != "" && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return c.Module
}

func configError(format string, args ...any) *tongs.Error {
	return tongs.Errorf(tongs.CodeConfigError, format, args...)
}
