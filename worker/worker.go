// Package worker runs workers. A worker is an agent defined in a file: its model, tools, rules, limits and instructions. The
// loop is model → calls → results → model; every call goes through a [tongs.Caller], so that nothing is decided here. A
// worker that lists others may call them as tools, each narrowed to what its caller may do.
//
// What a worker needs of the world is injected by [Options]: who takes calls, who opens models, where sessions are kept.
package worker

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

// Toolset is the name that configuration knows the tools of delegation by.
const Toolset = "workers"

// SearchTools are the tools of the toolset search: those of filesystem that search.
var SearchTools = []string{"glob", "grep", "search_code"}

// File is a worker as its file says.
type File struct {
	// Path is where the file is on this machine, Hash identifies its content.
	Path, Hash string
	// Trusted is set where a person vouches for this content. Rules of an untrusted file can only narrow, and starting it
	// must be asked for.
	Trusted bool

	Name, Description string
	// Model is the name of the model to use; empty leaves it to whoever starts the worker. Compatible are patterns with *
	// of the models that it works with; none means any.
	Model      string
	Compatible []string
	// MaxTokens bounds one answer of the model, 0 is the provider's default; Temperature nil is too.
	MaxTokens   int
	Temperature *float64
	// Price is what a million tokens cost, in US dollars; nil means that nobody said.
	Price *model.Price

	// Toolsets are the toolsets that the worker has. Servers are the MCP servers of the toolset mcp, by name, and the tools
	// of each that are meant, none meaning all. Listed are the tools of modules and packages; Workers whom it may call.
	Toolsets []string
	Servers  map[string][]string
	Listed   []string
	Workers  []string

	Rules []tongs.Rule
	// Zones are the parts of the roots that the worker may touch. Zoned is false where the file does not speak of zones:
	// then a worker that a person starts may touch what that person's tools may, and one that is called may touch nothing.
	Zones []Zone
	Zoned bool

	Limits      Limits
	Attachments Attachments
	// Output is the schema that the final answer must be JSON of; nil is plain text.
	Output *jsonschema.Schema
	// Instructions are what the model is told to be.
	Instructions string
}

// Zone is a part of the roots, as the file spells it.
type Zone struct {
	// Name is "workspace", the name of a configured zone, or any name where Path is given.
	Name string
	// Path is a path in the workspace, or in a configured zone as "/cache/sub". Empty is the zone of that name.
	Path     string
	Writable bool
	// Write and Delete are decisions about changes in it; nil leaves that to other rules.
	Write, Delete *tongs.Decision
	Origin        string
}

// spelling is how the zone's path is written in a call.
func (z Zone) spelling() string {
	switch {
	case z.Path != "":
		return z.Path
	case z.Name == "workspace":
		return "."
	}
	return "/" + z.Name
}

// Limits end a run. Zero fields limit nothing.
type Limits struct {
	Turns        int           `json:"turns,omitempty"`
	Tokens       int64         `json:"tokens,omitempty"`
	Time         time.Duration `json:"time,omitempty"`
	FilesChanged int           `json:"filesChanged,omitempty"`
	LinesChanged int           `json:"linesChanged,omitempty"`
	// Cost is in US dollars.
	Cost float64 `json:"cost,omitempty"`
	// Context is how many tokens of conversation are sent at most; older results are shortened to fit.
	Context int64 `json:"context,omitempty"`
}

// DefaultTurns and DefaultContext hold where a file says nothing.
const (
	DefaultTurns   = 50
	DefaultContext = 150_000
)

// Attachments say what may be handed to a worker besides text.
type Attachments struct {
	// Count is how many at most, Bytes how large each may be. Zero is the default: 10 of 5 MiB.
	Count int
	Bytes int64
	// Types are patterns of MIME types ("image/*"); none means text and images.
	Types []string
	// None refuses all.
	None bool
}

// Fits reports whether the worker works with a model of that name: as a whole, or without its provider.
func (f *File) Fits(name string) bool {
	if len(f.Compatible) == 0 {
		return true
	}
	name = strings.TrimPrefix(name, "xml+")
	_, bare, _ := strings.Cut(name, ":")
	return slices.ContainsFunc(f.Compatible, func(pattern string) bool { return matchesPattern(pattern, name) || matchesPattern(pattern, bare) })
}

// matchesPattern matches a pattern with * for any text.
func matchesPattern(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(s, parts[0])
	if len(parts) == 1 {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return ok && strings.HasSuffix(rest, parts[len(parts)-1])
}

// Offers reports whether a tool is one that the worker's model is offered. The tools of delegation are chosen by name.
func (f *File) Offers(spec *tongs.Spec) bool {
	switch {
	case spec.Source.Kind == tongs.SourceWorker:
		return slices.Contains(f.Workers, spec.Name)
	case spec.Toolset == Toolset:
		return len(f.Workers) > 0
	case spec.Source.Kind == tongs.SourceMCP:
		server, tool, _ := strings.Cut(spec.Name, "__")
		only, has := f.Servers[server]
		return has && (len(only) == 0 || slices.Contains(only, tool) || slices.Contains(only, spec.Name))
	case spec.Source.Kind == tongs.SourceModule:
		return slices.ContainsFunc(append([]string{spec.Name}, spec.Aliases...), func(name string) bool { return slices.Contains(f.Listed, name) })
	}
	return slices.Contains(f.Toolsets, spec.Toolset) || slices.Contains(f.Toolsets, "search") && slices.Contains(SearchTools, spec.Name)
}

// resolveZones resolves the zones of a file and returns them with the rules that they make. resolve turns a spelling into a
// path; one that leads outside every root is an error.
func (f *File) resolveZones(resolve func(string) (tongs.Path, error)) (zones []tongs.Zone, rules []tongs.Rule, err error) {
	zones = []tongs.Zone{}
	for _, z := range f.Zones {
		p, err := resolve(z.spelling())
		if err != nil {
			return nil, nil, tongs.Errorf(tongs.CodeConfigError,
				"zone %q of the worker %s: %w; a worker's zone is in the workspace, or one of the zones of the configuration", z.Name, f.Name, err)
		}
		zones = append(zones, tongs.Zone{Path: p, Writable: z.Writable})
		for _, word := range []struct {
			kind     tongs.EffectKind
			decision *tongs.Decision
		}{{tongs.EffectWrite, z.Write}, {tongs.EffectDelete, z.Delete}} {
			if word.decision != nil {
				rules = append(rules, tongs.Rule{
					Layer: tongs.LayerWorker, Origin: z.Origin, Untrusted: !f.Trusted, Effects: tongs.Kinds(word.kind),
					Pattern: below(p), Decision: *word.decision,
				})
			}
		}
	}
	return zones, rules, nil
}

// below is the pattern of everything at and below a path.
func below(p tongs.Path) string {
	switch {
	case p.Root == tongs.WorkspaceRoot && p.Rel == ".":
		return "**"
	case p.Root == tongs.WorkspaceRoot:
		return p.Rel + "/**"
	}
	return path.Join("/", p.Root, p.Rel) + "/**"
}

// AllRules returns the rules of the file together with those of its zones, for whoever puts them among their own.
func (f *File) AllRules(resolve func(string) (tongs.Path, error)) ([]tongs.Rule, error) {
	_, rules, err := f.resolveZones(resolve)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(f.Rules), rules...), nil
}

// String names the worker for messages.
func (f *File) String() string { return fmt.Sprintf("worker %q (%s)", f.Name, f.Path) }
