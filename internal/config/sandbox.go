package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Writes says what becomes of what a program writes.
type Writes string

const (
	// Outcome runs programs that no rule covers on a copy of the files, and asks which of their changes to keep.
	Outcome Writes = "outcome"
	// Direct asks before such a program runs, and then lets it write to the files.
	Direct Writes = "direct"
)

// Sandbox says how programs are run.
type Sandbox struct {
	Writes Writes
	// Through are directories that programs on a copy write to directly, undecided: caches. A relative one is in the
	// workspace.
	Through []string
	// Methods limit what commands may ask hosts for.
	Methods []MethodLimit
}

// Paths returns Through as absolute paths.
func (s Sandbox) Paths(workspace string) (paths []string) {
	for _, p := range s.Through {
		if !filepath.IsAbs(p) {
			p = filepath.Join(workspace, p)
		}
		paths = append(paths, p)
	}
	return paths
}

func (l *layer) readSandbox(v value) {
	l.object(v, map[string]func(value){
		"writes": func(v value) {
			if w, ok := l.word(v, string(Outcome), string(Direct)); ok {
				l.writes = &located[Writes]{Writes(w), l.origin(v.pos)}
			}
		},
		"network": l.readNetwork,
		"through": func(v value) {
			for _, item := range l.list(v) {
				if text, ok := l.text(item); ok {
					l.readThrough(item, text)
				}
			}
		},
	})
}

// readThrough takes up a directory. One that is or holds the workspace would let everything through.
func (l *layer) readThrough(v value, text string) {
	dir := filepath.Clean(filepath.FromSlash(text))
	switch {
	case text == "~" || strings.HasPrefix(text, "~/"):
		dir = l.path(text)
	case filepath.IsAbs(dir):
	case text == "" || !filepath.IsLocal(dir) || dir == ".":
		l.fail(v.pos, "%s is %s; name a directory inside the workspace, such as node_modules, or an absolute path", v.name(), quote(text))
		return
	case strings.ContainsAny(text, "*?["):
		l.fail(v.pos, "%s is %s; a directory is named, not a pattern", v.name(), quote(text))
		return
	}
	l.through = append(l.through, located[string]{dir, l.origin(v.pos)})
}

// mergeSandbox finds how programs are run. Direct is the stricter word, since it asks before anything runs: that of any
// file stands. What is let through is written without a question, so a file that may only tighten cannot set it.
func (c *Config) mergeSandbox(layers []*layer) {
	c.Sandbox.Writes = Outcome
	for _, l := range layers {
		switch {
		case l.writes == nil:
		case l.writes.value == Direct && c.Sandbox.Writes != Direct:
			c.Sandbox.Writes, c.origins["sandbox.writes"] = Direct, l.writes.origin
		case l.writes.value == Outcome && c.Sandbox.Writes == Direct:
			c.ignore(l.writes.origin, "sandbox.writes: outcome", "direct of "+c.origins["sandbox.writes"]+" is stricter: it asks before anything runs")
		case c.origins["sandbox.writes"] == "":
			c.origins["sandbox.writes"] = l.writes.origin
		}
	}
	for _, l := range layers {
		for _, t := range l.through {
			if l.narrow {
				c.ignore(t.origin, fmt.Sprintf("sandbox.through: %q", t.value), untrustedWhy(l))
			} else if !slices.Contains(c.Sandbox.Through, t.value) {
				c.Sandbox.Through = append(c.Sandbox.Through, t.value)
				c.origins["sandbox.through"] = t.origin
			}
		}
	}
}
