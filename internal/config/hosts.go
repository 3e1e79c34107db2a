package config

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/nearest"
	"github.com/tongs-ai/tongs/network"
)

// commandToolsets are those whose tools run commands.
var commandToolsets = []string{"shell", "code", "git", "project"}

// MethodLimit says which methods of plain HTTP commands may use for the hosts that a pattern matches.
type MethodLimit struct {
	Host    string
	Methods []string
	Origin  string
}

// MethodsFor returns the methods that commands may use for a host, nil for no limit. Where several limits apply, only what all of
// them allow is left.
func (s Sandbox) MethodsFor(host string) (methods []string) {
	effect := tongs.Effect{Kind: tongs.EffectNetwork, Host: host}
	for _, m := range s.Methods {
		if !policy.MatchWidely(tongs.EffectNetwork, m.Host, effect) {
			continue
		}
		if methods == nil {
			methods = slices.Clone(m.Methods)
			continue
		}
		methods = slices.DeleteFunc(methods, func(name string) bool { return !slices.Contains(m.Methods, name) })
	}
	return methods
}

func (l *layer) readNetwork(v value) {
	l.object(v, map[string]func(value){
		"hosts": func(v value) {
			for _, item := range l.list(v) {
				switch item.node.(type) {
				case *ast.MappingNode, *ast.MappingValueNode:
					l.readHosts(item)
				default:
					if name, ok := l.text(item); ok {
						l.allowHosts(item, tongs.PreApproved, l.hostsOf(item, name), nil)
					}
				}
			}
		},
		"pushes": func(v value) {
			for _, item := range l.list(v) {
				l.readPush(item)
			}
		},
	})
}

// readPush reads a rule about pushes.
func (l *layer) readPush(v value) {
	r := tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork)}
	decided, before := false, len(l.problems)
	l.object(v, map[string]func(value){
		"host":     func(v value) { r.Pattern, _ = l.text(v) },
		"branch":   func(v value) { r.Branch, _ = l.text(v) },
		"approval": func(v value) { r.Decision, decided = l.decision(v) },
	})
	switch {
	case len(l.problems) > before:
	case r.Pattern == "" || r.Branch == "" || !decided:
		l.fail(v.pos, "%s needs a host, a branch and an approval, as in {host: github.com, branch: agent/*, approval: preApproved}", v.name())
	default:
		l.commandRule(v, r)
	}
}

// readHosts reads an entry that says more than names: hosts, their approval and methods.
func (l *layer) readHosts(v value) {
	decision, sound := tongs.PreApproved, true
	var hosts, methods []string
	before := len(l.problems)
	l.object(v, map[string]func(value){
		"host":     func(v value) { name, _ := l.text(v); hosts = append(hosts, l.hostsOf(v, name)...) },
		"approval": func(v value) { decision, sound = l.decision(v) },
		"methods": func(v value) {
			for _, item := range l.list(v) {
				if m, ok := l.word(item, http.MethodGet, http.MethodHead); ok {
					methods = append(methods, m)
				}
			}
			if methods == nil && len(l.problems) == before {
				l.fail(v.pos, "%s is empty; name at least one of GET and HEAD, or block the host", v.name())
			}
		},
	})
	switch {
	case len(l.problems) > before || !sound:
	case len(hosts) == 0:
		l.fail(v.pos, "%s needs a host, or the name of a registry: %s", v.name(), groupNames())
	case methods != nil && decision == tongs.Blocked:
		l.fail(v.pos, "%s has methods, and blocks the host whatever the method is", v.name())
	default:
		l.allowHosts(v, decision, hosts, methods)
	}
}

// hostsOf are the hosts that a name stands for: those of a registry, or the host itself.
func (l *layer) hostsOf(v value, name string) []string {
	if g, ok := network.FindGroup(name); ok {
		return g.Hosts
	}
	if !strings.ContainsAny(name, ".:*[/") && name != "localhost" {
		hint := groupNames()
		if near := nearest.Word(name, strings.Split(hint, ", ")); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		l.fail(v.pos, "%s is %s, which is neither a host nor a registry (%s)", v.name(), quote(name), hint)
		return nil
	}
	return []string{name}
}

func groupNames() string {
	var names []string
	for _, g := range network.Groups() {
		names = append(names, g.Name)
	}
	return strings.Join(names, ", ")
}

// allowHosts adds the rules of an entry. A rule that pre-approves is about commands only; the others are about every tool, as
// everywhere. A file of a workspace allows nothing, even a trusted one: what it allowed could be sent to.
func (l *layer) allowHosts(v value, d tongs.Decision, hosts, methods []string) {
	for _, host := range hosts {
		l.commandRule(v, tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: host, Decision: d})
		if methods != nil {
			l.methods = append(l.methods, MethodLimit{host, methods, l.origin(v.pos)})
		}
	}
}

// commandRule adds a rule about what commands reach.
func (l *layer) commandRule(v value, r tongs.Rule) {
	toolsets := commandToolsets
	if r.Decision != tongs.PreApproved {
		toolsets = []string{""}
	}
	for _, r.Toolset = range toolsets {
		before := len(l.rules)
		l.rule(v.pos, r)
		for i := range l.rules[before:] {
			added := &l.rules[before+i]
			added.Untrusted = added.Untrusted || r.Decision == tongs.PreApproved && l.kind == tongs.LayerWorkspace
		}
	}
}

// mergeHosts takes up limits of methods, which any file can set, and says which hosts a workspace's file would have allowed.
func (c *Config) mergeHosts(layers []*layer) {
	for _, l := range layers {
		c.Sandbox.Methods = append(c.Sandbox.Methods, l.methods...)
		for _, r := range l.rules {
			if r.Untrusted && !l.narrow && r.Decision == tongs.PreApproved && r.Toolset == commandToolsets[0] {
				what, why := "sandbox.network.hosts: "+r.Pattern, "workspace files cannot allow hosts"
				if r.Branch != "" {
					what, why = "sandbox.network.pushes: "+r.Pattern+" "+r.Branch, "workspace files cannot allow pushes"
				}
				c.ignore(r.Origin, what, why)
			}
		}
	}
}
