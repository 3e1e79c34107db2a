package wire

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/registry"
)

// calledNames are all names, in plain form, of the tool that a call by this name means among those that neither call nor look at
// other tools. It is nil where it is none of them: then every part must be opened.
func calledNames(builtIn *registry.Set, name string) []string {
	entry, ok := builtIn.Lookup(name)
	if name == "" || !ok {
		return nil
	}
	switch entry.Tool.(type) {
	case tongs.Redirector, tongs.Initializer:
		return nil
	}
	spec := entry.Tool.Spec()
	names := append([]string{name, spec.Name}, spec.Aliases...)
	for i, n := range names {
		names[i] = plainName(n)
	}
	return names
}

// opens reports whether a part that supplies tools of these names must be opened: a tool from elsewhere may take the name of a
// built-in one. Tools of MCP servers cannot, so they are no reason to open. Custom tools are always opened, because only their
// directory has their names.
func (s *System) opens(supplies []string) bool {
	return s.called == nil || slices.ContainsFunc(supplies, func(name string) bool { return slices.Contains(s.called, plainName(name)) })
}

// plainName is a name without what languages spell differently, so that a name that might become another's counts as that.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}
