package config

import (
	"fmt"
	"slices"

	"github.com/tongs-ai/tongs"
)

// merge puts the layers together. It is pure.
func merge(layers []*layer, opt Options) *Config {
	c := &Config{Granted: tongs.AllPermissions, origins: map[string]string{}}
	c.mergeMode(layers, opt)
	c.mergeClients(layers)
	c.mergeLater(layers)
	c.mergeNotify(layers)
	c.mergeNumbers(layers)
	c.mergeSandbox(layers)
	c.mergeHosts(layers)
	c.mergeWeb(layers)
	c.mergeSQL(layers)
	c.mergeAudit(layers)
	for _, l := range layers {
		c.Rules = append(c.Rules, l.rules...)
		for i := range l.toolsets.MCP {
			if m := &l.toolsets.MCP[i]; m.Unpinned && (l.kind == tongs.LayerWorkspace || l.narrow) {
				m.Unpinned = false
				c.ignore(m.Origin, "pin: none", "only your own configuration, or the administrator's, can say so")
			}
		}
		c.Toolsets.merge(l.toolsets)
		for _, r := range l.rules {
			if l.narrow && r.Decision == tongs.PreApproved {
				c.ignore(r.Origin, r.String(), untrustedWhy(l))
			}
		}
		if p := l.permissions; p != nil && c.Granted&p.value != c.Granted {
			c.Granted &= p.value
			c.origins["permissions"] = p.origin
		}
		if l.desc != nil {
			switch {
			case l.narrow:
				c.ignore(l.desc.origin, "descriptions: "+l.desc.value, untrustedWhy(l))
			case c.Descriptions == "":
				c.Descriptions, c.origins["descriptions"] = l.desc.value, l.desc.origin
			}
		}
		if l.offer != nil { // it widens nothing: what is not offered can be called as well
			c.Offer, c.origins["offer"] = append(c.Offer, l.offer.value...), l.offer.origin
		}
		for _, z := range l.zones {
			c.mergeZone(z, l)
		}
	}
	return c
}

func untrustedWhy(l *layer) string {
	if l.kind == tongs.LayerWorkspace {
		return "the workspace file is not trusted (tongs trust)"
	}
	return "a directory that the environment names can only narrow"
}

func (c *Config) ignore(origin, what, why string) {
	c.Ignored = append(c.Ignored, Ignored{Origin: origin, What: what, Why: why})
}

// mergeMode finds the effective mode: the person's word on the command line, else the user's file, else safe; made
// stricter by the workspace where the command line says nothing; and never milder than the administrator's.
func (c *Config) mergeMode(layers []*layer, opt Options) {
	c.Mode, c.origins["approval.mode"] = tongs.ModeSafe, "default"
	stricter := func(m tongs.Mode, origin string) {
		if m > c.Mode {
			c.Mode, c.origins["approval.mode"] = m, origin
		}
	}
	var managed *located[tongs.Mode]
	for _, l := range layers {
		switch {
		case l.mode == nil:
		case l.kind == tongs.LayerManaged:
			managed = l.mode
		case l.kind == tongs.LayerUser && !l.narrow:
			c.Mode, c.origins["approval.mode"] = l.mode.value, l.mode.origin
		default:
			if l.mode.value == tongs.ModeAll || l.narrow && l.mode.value < c.Mode {
				c.ignore(l.mode.origin, "approval.mode: "+l.mode.value.String(), "this file can make the mode stricter only")
			}
			stricter(l.mode.value, l.mode.origin)
		}
	}
	switch {
	case opt.Mode == nil:
	case opt.Unattended:
		stricter(*opt.Mode, "--mode")
	default:
		c.Mode, c.origins["approval.mode"] = *opt.Mode, "--mode"
	}
	if managed != nil {
		stricter(managed.value, managed.origin)
	}
}

// mergeClients finds whether clients may approve what must be asked of their own calls. The first of the administrator and
// the user to say something decides; every other file, and the user after the administrator, can only take it back.
func (c *Config) mergeClients(layers []*layer) {
	const key = "approval.clients"
	said := false
	for _, l := range layers {
		switch {
		case l.clients == nil:
		case !said && l.kind != tongs.LayerWorkspace && !l.narrow:
			said = true
			c.ClientsApprove, c.origins[key] = l.clients.value, l.clients.origin
		case l.clients.value:
			c.ignore(l.clients.origin, key+": all", "only the administrator's file, or else your own, can say so")
		case c.ClientsApprove:
			c.ClientsApprove, c.origins[key] = false, l.clients.origin
		}
	}
}

// mergeNotify finds how a person is told of questions. It is the person's own desk: a workspace has no say.
func (c *Config) mergeNotify(layers []*layer) {
	const key = "approval.notify"
	c.Notify = "all"
	said := false
	for _, l := range layers {
		switch {
		case l.notify == nil:
		case l.kind == tongs.LayerWorkspace:
			c.ignore(l.notify.origin, key, "workspace files cannot set this")
		case !said:
			said = true
			c.Notify, c.origins[key] = l.notify.value, l.notify.origin
		}
	}
}

// mergeLater finds whether questions are put off. A call that is refused until somebody looks is narrower than one that asks,
// so that any file can say so, and none can take it back.
func (c *Config) mergeLater(layers []*layer) {
	const key = "approval.ask"
	var now []*located[bool]
	for _, l := range layers {
		switch {
		case l.later == nil:
		case !l.later.value:
			now = append(now, l.later)
		case !c.AskLater:
			c.AskLater, c.origins[key] = true, l.later.origin
		}
	}
	for _, n := range now {
		if c.AskLater {
			c.ignore(n.origin, key+": now", c.origins[key]+" says later, which is stricter")
		} else if c.origins[key] == "" {
			c.origins[key] = n.origin
		}
	}
}

// mergeNumbers finds limits and retention. Of user and workspace the first that speaks wins; the administrator's
// limits cap both, his retention stands; an untrusted file can only lower limits. Retention is for the user's whole
// state, so no workspace may set it.
func (c *Config) mergeNumbers(layers []*layer) {
	limits, retention := c.Limits.fields(), c.Retention.fields()
	defaults(limits, limitSettings)
	defaults(retention, retentionSettings)
	for _, s := range limitSettings {
		c.mergeLimit(layers, s, limits[s.key])
	}
	c.fitLimits(limits)
	for _, s := range retentionSettings {
		for _, l := range slices.Backward(layers) {
			v, ok := l.retention[s.key]
			switch {
			case !ok:
			case l.kind == tongs.LayerWorkspace || l.narrow:
				c.ignore(v.origin, "retention."+s.key, "retention is the user's and the administrator's")
			default:
				*retention[s.key], c.origins["retention."+s.key] = v.value, v.origin
			}
		}
	}
}

// fitLimits makes the most that a call can ask for at least what it gets by itself: where nobody spoke of the most it
// follows, otherwise it caps the other.
func (c *Config) fitLimits(limits map[string]*int64) {
	for _, pair := range usualAndMost {
		usual, most := limits[pair[0]], limits[pair[1]]
		origin, ceiling := c.origins["limits."+pair[0]], c.origins["limits."+pair[1]]
		switch {
		case *usual <= *most:
		case ceiling == "":
			*most, c.origins["limits."+pair[1]] = *usual, origin
		default:
			if origin != "" {
				c.ignore(origin, "limits."+pair[0], "limits."+pair[1]+" of "+ceiling+" is less")
			}
			*usual, c.origins["limits."+pair[0]] = *most, ceiling
		}
	}
}

func (c *Config) mergeLimit(layers []*layer, s setting, to *int64) {
	key := "limits." + s.key
	set := func(v located[int64]) { *to, c.origins[key] = v.value, v.origin }
	var ceiling *located[int64]
	spoken := false
	for _, l := range layers {
		v, ok := l.limits[s.key]
		switch {
		case !ok:
		case l.kind == tongs.LayerManaged:
			ceiling = &v
		case s.key == ofState && (l.kind == tongs.LayerWorkspace || l.narrow):
			c.ignore(v.origin, key, "what undo keeps is the user's and the administrator's")
		case l.narrow:
			if v.value < *to {
				set(v)
			} else if v.value > *to {
				c.ignore(v.origin, fmt.Sprintf("%s: %s", key, s.show(v.value)), untrustedWhy(l))
			}
		case !spoken:
			set(v)
			spoken = true
		}
	}
	if ceiling != nil && (*to > ceiling.value || c.origins[key] == "") {
		set(*ceiling)
	}
}

// mergeZone adds a zone. One of the same name in a layer with more authority stands; this one can take the right to
// write from it, nothing else.
func (c *Config) mergeZone(z Zone, l *layer) {
	for i := range c.Zones {
		known := &c.Zones[i]
		if known.Name != z.Name {
			continue
		}
		if known.Writable && !z.Writable {
			known.Writable, known.Origin = false, z.Origin
		}
		if known.Dir != z.Dir || z.Writable && !known.Writable {
			c.ignore(z.Origin, fmt.Sprintf("zone %s", z.Name), fmt.Sprintf("the zone is defined by %s", known.Origin))
		}
		return
	}
	if l.narrow {
		c.ignore(z.Origin, fmt.Sprintf("zone %s: %q", z.Name, z.Dir), untrustedWhy(l))
		return
	}
	c.Zones = append(c.Zones, z)
}
