package config

import (
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/worker"
)

// Toolsets holds what files say of toolsets beyond rules, as data for whoever loads them. An untrusted entry comes
// from a file that nobody trusted: whoever loads it must ask first.
type Toolsets struct {
	Custom   []CustomTools   `json:"custom,omitempty"`
	External []ExternalTools `json:"external,omitempty"`
	MCP      []MCPServer     `json:"mcp,omitempty"`
	Workers  []WorkerTools   `json:"workers,omitempty"`
}

// Entry says where an entry stands.
type Entry struct {
	Layer     tongs.Layer `json:"layer"`
	Origin    string      `json:"origin"`
	Untrusted bool        `json:"untrusted,omitempty"`
}

// WorkerTools are workers that may be called as tools.
type WorkerTools struct {
	Entry
	Workers []string `json:"workers"`
}

func (l *layer) readToolsets(v value) {
	plain := func(name string) func(value) {
		return func(v value) { l.object(v, l.withApproval(name, map[string]func(value){})) }
	}
	l.object(v, map[string]func(value){
		"filesystem": l.readFilesystem,
		"shell":      l.readShell,
		"web":        l.readWeb,
		"search":     l.readSearch,
		"sql":        l.readSQL,
		"code":       plain("code"),
		"git":        plain("git"),
		"project":    plain("project"),
		"todo":       plain("todo"),
		"custom":     l.readCustom,
		"external":   l.readExternal,
		"forge":      plain("custom"), // the custom tools that are no module's
		"mcp":        l.readMCP,
		"workers":    l.readWorkers,
	})
}

// readSearch reads the toolset of the tools that search. They are among the file tools, so that the rules of those hold for
// them, too; what is said of them here is said of each by its name.
func (l *layer) readSearch(v value) {
	before := len(l.rules)
	l.object(v, l.withApproval("search", map[string]func(value){}))
	said := slices.Clone(l.rules[before:])
	l.rules = l.rules[:before]
	for _, r := range said {
		names := worker.SearchTools
		if r.Tool != "" {
			names = []string{r.Tool}
		}
		for _, name := range names {
			r.Toolset, r.Tool = "", name
			l.rules = append(l.rules, r)
		}
	}
}

func (l *layer) withApproval(toolset string, readers map[string]func(value)) map[string]func(value) {
	readers["approval"] = func(v value) { l.approval(v, toolset, "", false) }
	return readers
}

func (l *layer) readFilesystem(v value) {
	l.object(v, l.withApproval("filesystem", map[string]func(value){
		"rules": func(v value) {
			for _, item := range l.list(v) {
				l.patternRule(item, "filesystem", tongs.Kinds(tongs.EffectRead, tongs.EffectWrite, tongs.EffectDelete),
					"read", "write", "delete")
			}
		},
	}))
}

func (l *layer) readShell(v value) {
	l.object(v, l.withApproval("shell", map[string]func(value){
		"rules": func(v value) {
			for _, item := range l.list(v) {
				l.patternRule(item, "shell", tongs.Kinds(tongs.EffectExecute), "execute", "read", "write", "delete")
			}
		},
		"default": func(v value) {
			if d, ok := l.decision(v); ok {
				l.rule(v.pos, tongs.Rule{
					Toolset: "shell", Effects: tongs.Kinds(tongs.EffectExecute), Decision: d, Fallback: true,
				})
				if d != tongs.PreApproved { // other tools that run a project's programs are no way around it
					l.rule(v.pos, tongs.Rule{Toolset: "project", Effects: tongs.Kinds(tongs.EffectExecute), Decision: d, Fallback: true})
				}
			}
		},
	}))
}

func (l *layer) readWeb(v value) {
	l.object(v, l.webReaders(l.withApproval("web", map[string]func(value){
		"hosts": func(v value) {
			for _, item := range l.list(v) {
				if host, ok := l.text(item); ok {
					l.rule(item.pos, tongs.Rule{
						Toolset: "web", Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: host,
						Decision: tongs.PreApproved,
					})
				}
			}
		},
		"rules": func(v value) {
			for _, item := range l.list(v) {
				l.patternRule(item, "web", tongs.Kinds(tongs.EffectNetwork))
			}
		},
	})))
}

// patternRule reads one entry of rules. What it blocks or asks for holds for the effect, whichever toolset has it, so
// that a path closed to edit is closed to a redirection in a shell command too; what it pre-approves stays in its own
// toolset. kinds are the effects it is about unless its effects key says which; words are what that may say.
func (l *layer) patternRule(v value, toolset string, kinds tongs.EffectKinds, words ...string) {
	r := tongs.Rule{Effects: kinds}
	var match, notMatch []string
	decided, sound, writes := false, true, false
	readers := map[string]func(value){
		"pattern":  func(v value) { r.Pattern, sound = l.text(v) },
		"approval": func(v value) { r.Decision, decided = l.decision(v); sound = sound && decided },
		"match":    func(v value) { match = l.texts(v) },
		"notMatch": func(v value) { notMatch = l.texts(v) },
	}
	if kinds == tongs.Kinds(tongs.EffectExecute) {
		readers["writes"] = func(v value) {
			w, ok := l.word(v, string(Outcome), string(Direct))
			r.Outcome, sound, writes = w == string(Outcome), sound && ok, true
		}
	}
	if len(words) > 0 {
		readers["effects"] = func(v value) { r.Effects = l.effects(v, words) }
	}
	before := len(l.problems)
	l.object(v, readers)
	if len(l.problems) > before || !sound {
		return
	}
	if r.Pattern == "" || !decided {
		l.fail(v.pos, "%s needs a pattern and an approval", v.name())
		return
	}
	if writes && (r.Decision != tongs.PreApproved || r.Effects != tongs.Kinds(tongs.EffectExecute)) {
		l.fail(v.pos, "%s has writes, which is for commands that are preApproved; what is asked for or blocked is decided before anything runs", v.name())
		return
	}
	if r.Decision == tongs.PreApproved {
		r.Toolset = toolset
	}
	if err := policy.CheckExamples(r, match, notMatch); err != nil {
		l.fail(v.pos, "%s: %v", v.name(), err)
		return
	}
	l.rule(v.pos, r)
}

func (l *layer) effects(v value, words []string) (set tongs.EffectKinds) {
	for _, item := range l.list(v) {
		if w, ok := l.word(item, words...); ok {
			var k tongs.EffectKind
			if k.UnmarshalText([]byte(w)) == nil {
				set |= tongs.Kinds(k)
			}
		}
	}
	if set == 0 {
		l.fail(v.pos, "%s is empty; leave it out to mean every effect", v.name())
	}
	return set
}

func (l *layer) entry(v value) Entry {
	return Entry{Layer: l.kind, Origin: l.origin(v.pos), Untrusted: l.narrow}
}

func (l *layer) readWorkers(v value) {
	if names := l.texts(v); len(names) > 0 {
		l.toolsets.Workers = append(l.toolsets.Workers, WorkerTools{Entry: l.entry(v), Workers: names})
	}
}

// merge adds the entries of another file.
func (t *Toolsets) merge(o Toolsets) {
	t.Custom = slices.Concat(t.Custom, o.Custom)
	t.External = slices.Concat(t.External, o.External)
	t.MCP = slices.Concat(t.MCP, o.MCP)
	t.Workers = slices.Concat(t.Workers, o.Workers)
}
