package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// Audit says what becomes of the log besides the state directory.
type Audit struct {
	// Checkpoint sends the log's head elsewhere; nil where nobody configured it.
	Checkpoint *Checkpoint
}

// Checkpoint is a place for the log's head: a command that reads it, or a URL that it is posted to.
type Checkpoint struct {
	Command []string
	URL     string
	// Every is the time between two; Required stops calls while one is due and fails.
	Every    time.Duration
	Required bool
}

// String says where it goes, how often, and whether calls wait for it.
func (c *Checkpoint) String() string {
	place := strings.Join(c.Command, " ")
	if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
		place = u.Redacted()
	}
	text := place + ", every " + checkpointEvery.show(int64(c.Every))
	if c.Required {
		text += ", required"
	}
	return text
}

var checkpointEvery = setting{key: "every", unit: seconds, def: int64(10 * time.Minute), min: int64(time.Second), max: int64(7 * day)}

func (l *layer) readAudit(v value) {
	l.object(v, map[string]func(value){"checkpoint": l.readCheckpoint})
}

func (l *layer) readCheckpoint(v value) {
	c := Checkpoint{Every: time.Duration(checkpointEvery.def)}
	l.object(v, map[string]func(value){
		"command": func(v value) { c.Command = l.words(v) },
		"url": func(v value) {
			text, ok := l.text(v)
			if !ok {
				return
			}
			if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
				l.fail(v.pos, "%s is %s; want an https URL, or an http one on this machine", v.name(), quote(text))
			}
			c.URL = text
		},
		"every":    func(v value) { c.Every = time.Duration(l.number(v, checkpointEvery)) },
		"required": func(v value) { c.Required = l.onOff(v) },
	})
	switch {
	case len(c.Command) > 0 && c.URL != "":
		l.fail(v.pos, "%s has a command and a url; want one of them", v.name())
	case len(c.Command) == 0 && c.URL == "":
		l.fail(v.pos, "%s needs a command or a url", v.name())
	}
	l.checkpoint = &located[Checkpoint]{c, l.origin(v.pos)}
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// mergeAudit finds where checkpoints go: the administrator's place, else the user's.
func (c *Config) mergeAudit(layers []*layer) {
	for _, l := range layers {
		switch {
		case l.checkpoint == nil:
		case l.kind != tongs.LayerManaged && (l.kind != tongs.LayerUser || l.narrow):
			c.ignore(l.checkpoint.origin, "audit.checkpoint", "the log is the user's and the administrator's")
		case c.Audit.Checkpoint != nil:
			c.ignore(l.checkpoint.origin, "audit.checkpoint", "that of "+c.origins["audit.checkpoint"]+" takes precedence")
		default:
			c.Audit.Checkpoint, c.origins["audit.checkpoint"] = &l.checkpoint.value, l.checkpoint.origin
		}
	}
}
