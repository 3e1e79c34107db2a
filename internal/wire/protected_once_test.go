package wire

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// asked makes a call whose questions get the same answer, and returns them.
func (s *site) asked(command string, approved bool) (list []approval.Question, res *tongs.Result) {
	s.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	s.ok(err)
	answer := approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		list = append(list, q)
		return approval.Answer{Approved: approved}, nil
	})
	sys, err := Host{Workspace: s.at("ws"), Attended: true}.Open(s.Context(), Options{Channels: []approval.Channel{answer}})
	s.ok(err)
	defer sys.Close()
	return list, sys.Engine.Call(s.Context(), &tongs.Call{Tool: "shell", Args: args, Session: "s1", Agents: []string{"ada"}})
}

// A program that runs on a copy by a rule is asked about once where it changes a protected file: by what it wrote there. A secret is
// asked about before it is shown to the program.
func TestProtectedFilesAreAskedAboutOnce(t *testing.T) {
	const rules = "toolsets: {shell: {rules: [{pattern: python3, approval: preApproved, writes: outcome}, {pattern: sed, approval: preApproved, writes: outcome}]}}\n"
	for command, c := range map[string]struct {
		file            string
		before, outcome int
	}{
		"sed -i s/old/new/ .envrc":   {".envrc", 0, 1},
		"sed -i s/old/new/ f .envrc": {".envrc", 0, 1},
		`python3 -c "open('f','w').write('new\n'); open('.envrc','w').write('new\n')"`:    {".envrc", 0, 1},
		`python3 -c "open('f','w').write('new\n'); open('AGENTS.md','w').write('new\n')"`: {"AGENTS.md", 0, 1},
		"sed -i s/old/new/ .env": {".env", 1, 1},
	} {
		for _, approved := range []bool{true, false} {
			s := newSite(t)
			for _, name := range []string{"f", ".envrc", "AGENTS.md", ".env"} {
				s.write(name, "old\n")
			}
			s.ok(os.MkdirAll(s.at("home", "config"), 0o755))
			s.ok(os.WriteFile(s.at("home", "config", "config.yaml"), []byte(rules), 0o600))
			list, res := s.asked(command, approved)
			before, outcome := 0, 0
			for _, q := range list {
				if q.ChangeCount > 0 {
					outcome++
				} else {
					before++
				}
			}
			if !approved {
				if left := s.read(c.file); len(list) != 1 || left != "old\n" || res.Error == nil {
					t.Errorf("%s, refused: asked %d times, %s is %q, %v", command, len(list), c.file, left, res.Error)
				}
				continue
			}
			if before != c.before || outcome != c.outcome || s.read(c.file) != "new\n" || res.Error != nil {
				t.Errorf("%s: asked %d times before and %d times about changes, %s is %q, %v", command, before, outcome, c.file, s.read(c.file), res.Error)
			}
		}
	}
}
