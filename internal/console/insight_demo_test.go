package console

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/workspace"
)

// insightShot is a picture of a page about rules, sessions or statistics. Act does what a person does there first.
type insightShot struct {
	name, path, ready string
	act               func(*tab)
	width, height     int64
}

var insightShots = []insightShot{
	{"statistics", "/statistics?window=week", `document.querySelectorAll('.figure svg[role=img]').length > 1`, nil, 1280, 1080},
	{"statistics-phone", "/statistics?window=week", `document.querySelectorAll('.figure svg[role=img]').length > 1`, nil, 390, 844},
	{"policy", "/policy", `document.querySelector('tr[data-call]') && document.querySelector('[data-decision]') && document.querySelector('[data-grant]')`, func(b *tab) {
		b.wait("tools", `document.querySelectorAll('#test-tool option').length > 5`)
		b.fill("#test-input", "git push origin main")
		b.click("#test button")
		b.fill("#p-pattern", "git diff")
		b.click("#propose button")
	}, 1280, 1180},
	{"sessions", "/sessions#s_4kq2", `document.querySelector('#detail .calls')`, nil, 1280, 860},
	{"transcript", "/sessions#s_work", `document.querySelector('#detail .transcript')`, func(b *tab) {
		b.wait("a call", `document.querySelector('#detail .called')`)
		b.eval(`document.querySelector('#detail .called').open = true`, nil)
	}, 1280, 1080},
}

// insightDemo gives a stand rules of several layers.
func insightDemo(s *stand) {
	insightful(s)
	real := s.insight
	s.insight = func(ws *workspace.Workspace) Insight {
		i := real(ws)
		i.Rules, i.Workers = shownFile{i.Rules}, s.workers("")
		return i
	}
	command := tongs.Kinds(tongs.EffectExecute)
	paths := tongs.Kinds(tongs.EffectRead, tongs.EffectWrite, tongs.EffectDelete)
	s.rules = append(s.rules,
		tongs.Rule{Layer: tongs.LayerManaged, Origin: "policy.yaml:4", Effects: paths, Pattern: "secrets/**", Decision: tongs.Blocked},
		tongs.Rule{Layer: tongs.LayerManaged, Origin: "policy.yaml:9", Effects: command, Pattern: "sudo", Decision: tongs.Blocked},
		tongs.Rule{Layer: tongs.LayerUser, Origin: "config.yaml:7", Toolset: "shell", Effects: command, Pattern: "git", Decision: tongs.PreApproved},
		tongs.Rule{Layer: tongs.LayerUser, Origin: "config.yaml:9", Toolset: "shell", Effects: command, Pattern: "go test", Decision: tongs.PreApproved, Outcome: true},
		tongs.Rule{Layer: tongs.LayerUser, Origin: "config.yaml:12", Tool: "edit", Decision: tongs.Ask},
		tongs.Rule{Layer: tongs.LayerWorkspace, Origin: "tongs.yaml:3", Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "*.example.com", Decision: tongs.PreApproved, Untrusted: true},
		tongs.Rule{Layer: tongs.LayerWorkspace, Origin: "tongs.yaml:6", Effects: tongs.Kinds(tongs.EffectDelete), Pattern: "migrations/**", Decision: tongs.Ask},
	)
}

// shownFile is a file of rules in a place that a picture can show.
type shownFile struct{ RuleFile }

func (f shownFile) Draft(lines []string) (*RuleDraft, error) {
	d, err := f.RuleFile.Draft(lines)
	if d != nil {
		d.Path = "~/.config/tongs/config.yaml"
	}
	return d, err
}

// insightPictures writes pictures of the pages, light and dark, and of one on a phone.
func insightPictures(t *testing.T, dir string) {
	t.Helper()
	s := newStand(t, inHome, demo, insightDemo)
	fillInsight(s)
	b := newTab(t, s)
	for _, shot := range insightShots {
		for _, theme := range []string{"light", "dark"} {
			_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
			})
			if err != nil {
				t.Fatal(err)
			}
			b.run(chromedp.EmulateViewport(shot.width, shot.height))
			b.open(shot.path)
			if shot.act != nil {
				shot.act(b)
			}
			b.wait("the page", shot.ready)
			data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "console-"+shot.name+"-"+theme+".png"), small(t, data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// fillInsight writes a week of calls, so that there is something to see.
func fillInsight(s *stand) {
	s.t.Helper()
	m := rand.New(rand.NewPCG(5, 8))
	tools := []string{"read_file", "read_file", "read_file", "grep", "grep", "shell", "shell", "edit", "write_file", "list_directory", "github__search"}
	now := time.Now()
	for i := range 1400 {
		ago := time.Duration(m.Float64() * float64(7*24*time.Hour))
		if hour := now.Add(-ago).Hour(); hour < 7 && m.IntN(5) > 0 {
			continue
		}
		s.logged(i, tools[m.IntN(len(tools))], now.Add(-ago), m)
	}
	for _, words := range []string{"git status", "git log -3 --stat", "git diff main", "git diff HEAD~1 cache.go", "ls", "git diff"} {
		ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Second) // nobody answers what is asked
		s.engine.Call(ctx, &tongs.Call{Tool: "shell", Args: json.RawMessage(`{"command":` + quote(words) + `}`), Session: "s_4kq2", Agents: []string{"coder"}})
		cancel()
	}
	s.write("README.md", "# Cache\n")
	s.callAs("s_4kq2", "read_file", `{"path":"README.md"}`, "coder", "tester")
	s.callAs("s_4kq2", "read_file", `{"path":"missing.go"}`, "coder", "tester")
	s.callAs("s_4kq2", "read_file", `{"path":"secrets/key"}`, "coder")
	for i, cover := range []string{"write docs/**", "write cache/cache.go"} {
		c, err := policy.ParseCover(cover)
		if err != nil {
			s.t.Fatal(err)
		}
		g := policy.Grant{ID: fmt.Sprintf("g_%d", i), Scope: policy.ScopeAlways, Key: policy.Key{Tool: "edit", Agents: []string{"coder"}}, Covers: []policy.Cover{c}, RulesDigest: "x", By: "console:ada", At: time.Now().Add(-time.Duration(i+1) * 5 * time.Hour)}
		if err := s.db.Grants().Add(s.t.Context(), g); err != nil {
			s.t.Fatal(err)
		}
	}
}

// logged writes one call into the log.
func (s *stand) logged(i int, tool string, at time.Time, m *rand.Rand) {
	s.t.Helper()
	ctx, log := s.t.Context(), s.db.Audit()
	id := fmt.Sprintf("c_demo%d", i)
	in := &audit.Intent{Tool: tool, Decision: tongs.PreApproved, By: "default of " + tool}
	c := &audit.Closing{Outcome: audit.OutcomeOK, Ran: time.Duration(m.ExpFloat64() * float64(40*time.Millisecond)), Output: 400, Shown: 400}
	if tool == "shell" {
		c.Ran *= 30
		c.Output = m.Int64N(400_000)
		c.Shown = min(c.Output, 30_000)
		in.Rules = []string{policy.RuleID(s.rules[len(s.rules)-5])}
	}
	switch m.IntN(18) {
	case 0:
		c.Outcome, c.Code = audit.OutcomeError, []tongs.Code{tongs.CodeFileNotFound, tongs.CodeNoMatch, tongs.CodeTimeout, tongs.CodeExecutionError}[m.IntN(4)]
	case 1:
		in.Decision, in.Question, c.Waited = tongs.Ask, "q", time.Duration(m.ExpFloat64()*float64(14*time.Second))
		if m.IntN(4) == 0 {
			c.Outcome, c.Code = audit.OutcomeRefused, tongs.CodeDenied
		}
	case 2:
		if m.IntN(3) == 0 {
			in.Decision, in.Rules, c.Outcome, c.Code = tongs.Blocked, []string{policy.RuleID(s.rules[len(s.rules)-7])}, audit.OutcomeRefused, tongs.CodeBlocked
		}
	case 3:
		in.Copy, in.Decision = true, tongs.Ask
	}
	for _, err := range []error{
		log.Open(ctx, &audit.Row{Call: id, Tool: tool, Session: fmt.Sprintf("s_%d", i%40), Started: at, Agents: [][]string{{"coder"}, {"coder", "tester"}, {"researcher"}}[i%3]}),
		log.Intent(ctx, id, in), log.Close(ctx, id, c),
	} {
		if err != nil {
			s.t.Fatal(err)
		}
	}
}
