package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/token"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// layer is what one file says, before it is merged with the others.
type layer struct {
	*source
	kind tongs.Layer
	// base is the file's name in origins; dir is what relative paths are relative to; home replaces ~.
	base, dir, home string
	// narrow is set for a file that nobody vouches for: it can only narrow.
	narrow bool

	mode        *located[tongs.Mode]
	clients     *located[bool]
	later       *located[bool]
	notify      *located[Notify]
	permissions *located[tongs.Permissions]
	desc        *located[string]
	offer       *located[[]string]
	rules       []tongs.Rule
	zones       []Zone
	limits      map[string]located[int64]
	retention   map[string]located[int64]
	toolsets    Toolsets
	writes      *located[Writes]
	through     []located[string]
	methods     []MethodLimit
	web         webLayer
	sql         []located[SQLConnection]
	checkpoint  *located[Checkpoint]
}

// located is a value and where it stands.
type located[T any] struct {
	value  T
	origin string
}

// origin spells a place as it is shown in rules: "config.yaml:12".
func (l *layer) origin(pos *token.Position) string {
	if pos == nil {
		return l.base
	}
	return fmt.Sprintf("%s:%d", l.base, pos.Line)
}

// decode reads the whole file. Problems are collected in the source.
func (l *layer) decode(data []byte) {
	root := value{node: l.parse(data)}
	if len(l.problems) > 0 {
		return
	}
	root.pos = position(root.node)
	l.object(root, map[string]func(value){
		"approval":     func(v value) { l.approval(v, "", "", true) },
		"toolsets":     l.readToolsets,
		"mcp":          l.readMCP,
		"zones":        l.readZones,
		"limits":       l.readLimits,
		"retention":    l.readRetention,
		"audit":        l.readAudit,
		"sandbox":      l.readSandbox,
		"permissions":  l.readPermissions,
		"descriptions": l.readDescriptions,
		"offer":        l.readOffer,
		// A worker file may be used as it is; what names it means nothing here.
		"name":        func(v value) { l.text(v) },
		"description": func(v value) { l.text(v) },
	})
}

func (l *layer) rule(pos *token.Position, r tongs.Rule) {
	r.Layer, r.Origin, r.Untrusted = l.kind, l.origin(pos), l.narrow
	if err := policy.Validate(r); err != nil {
		l.fail(pos, "%v", err)
		return
	}
	l.rules = append(l.rules, r)
}

// approval reads an approval mapping: default, tools, and mode and undoable where the whole file is meant. In the toolset of an
// MCP server, prefix is what stands before the names of its tools.
func (l *layer) approval(v value, toolset, prefix string, withMode bool) {
	readers := map[string]func(value){
		"default": func(v value) {
			if d, ok := l.decision(v); ok {
				r := tongs.Rule{Toolset: toolset, Decision: d, Fallback: true}
				if prefix != "" {
					r.Toolset, r.Tool = "", prefix+"*"
				}
				l.rule(v.pos, r)
			}
		},
		"tools": func(v value) {
			for _, f := range l.fields(v) {
				if strings.TrimSpace(f.key) == "" {
					l.fail(f.keyAt, "%s has an empty tool name", v.name())
					continue
				}
				if d, ok := l.decision(f.value); ok {
					r := tongs.Rule{Toolset: toolset, Tool: prefix + f.key, Decision: d}
					if prefix != "" {
						r.Toolset = ""
					}
					l.rule(f.keyAt, r)
				}
			}
		},
	}
	if withMode {
		readers["undoable"] = func(v value) {
			if w, ok := l.word(v, "preApproved", "ask"); ok {
				d, _ := tongs.ParseDecision(w)
				l.rule(v.pos, tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete), Undoable: true, Decision: d})
			}
		}
		if l.kind != tongs.LayerWorker {
			readers["clients"] = func(v value) {
				if w, ok := l.word(v, "ordinary", "all"); ok {
					l.clients = &located[bool]{w == "all", l.origin(v.pos)}
				}
			}
			readers["ask"] = func(v value) {
				if w, ok := l.word(v, "now", "later"); ok {
					l.later = &located[bool]{w == "later", l.origin(v.pos)}
				}
			}
			readers["notify"] = func(v value) {
				if w, ok := l.word(v, "all", "desktop", "bell", "none"); ok {
					l.notify = &located[Notify]{Notify(w), l.origin(v.pos)}
				}
			}
		}
		readers["mode"] = func(v value) {
			if w, ok := l.word(v, "none", "safe", "all"); ok {
				m, _ := tongs.ParseMode(w)
				l.mode = &located[tongs.Mode]{m, l.origin(v.pos)}
			}
		}
	}
	l.object(v, readers)
}

func (l *layer) readPermissions(v value) {
	set := tongs.Permissions(0)
	for _, item := range l.list(v) {
		if w, ok := l.word(item, tongs.AllPermissions.List()...); ok {
			p, _ := tongs.ParsePermissions(w)
			set |= p
		}
	}
	l.permissions = &located[tongs.Permissions]{set, l.origin(v.pos)}
}

func (l *layer) readDescriptions(v value) {
	if text, ok := l.text(v); ok {
		l.desc = &located[string]{l.path(text), l.origin(v.pos)}
	}
}

func (l *layer) readOffer(v value) {
	l.offer = &located[[]string]{l.texts(v), l.origin(v.pos)}
}

// path makes a path of the file absolute: ~ is the home directory, a relative one starts at the file.
func (l *layer) path(text string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(text), "~/"); ok && l.home != "" {
		return filepath.Join(l.home, filepath.FromSlash(rest))
	}
	if text == "~" && l.home != "" {
		return l.home
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(l.dir, filepath.FromSlash(text))
}

var (
	zoneName   = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)
	// reserved are the zones that Tongs itself provides.
	reserved = map[string]bool{"spill": true, "forge": true, "workspace": true}
)

func (l *layer) readZones(v value) {
	for _, f := range l.fields(v) {
		if !zoneName.MatchString(f.key) {
			l.fail(f.keyAt, "zone name %s: want a lower-case letter, then at most 31 lower-case letters, digits, _ and -", quote(f.key))
			continue
		}
		if reserved[f.key] {
			l.fail(f.keyAt, "zone %q is provided by Tongs; choose another name", f.key)
			continue
		}
		l.readZone(f)
	}
}

func (l *layer) readZone(f field) {
	zone := Zone{Name: f.key, Layer: l.kind, Origin: l.origin(f.keyAt)}
	l.object(f.value, map[string]func(value){
		"path": func(v value) {
			if text, ok := l.text(v); ok {
				zone.Dir = l.path(text)
			}
		},
		"mode": func(v value) {
			w, _ := l.word(v, "ro", "rw")
			zone.Writable = w == "rw"
		},
		"approval": func(v value) {
			l.object(v, map[string]func(value){
				"write":  func(v value) { l.zoneRule(v, f.key, tongs.EffectWrite) },
				"delete": func(v value) { l.zoneRule(v, f.key, tongs.EffectDelete) },
			})
		},
	})
	if zone.Dir == "" {
		l.fail(f.keyAt, "zone %q needs a path", f.key)
		return
	}
	l.zones = append(l.zones, zone)
}

func (l *layer) zoneRule(v value, zone string, kind tongs.EffectKind) {
	if d, ok := l.decision(v); ok {
		l.rule(v.pos, tongs.Rule{Effects: tongs.Kinds(kind), Pattern: "/" + zone + "/**", Decision: d})
	}
}
