package config_test

import "testing"

// A refusal until somebody looks is stricter than a question: any file can say so, and none can take it back.
func TestQuestionsArePutOffByAnyFile(t *testing.T) {
	for name, c := range map[string]struct {
		user, workspace string
		later           bool
		ignored         int
	}{
		"nobody":            {},
		"the user":          {user: "approval: {ask: later}", later: true},
		"the workspace":     {workspace: "approval: {ask: later}", later: true},
		"not taken back":    {user: "approval: {ask: later}", workspace: "approval: {ask: now}", later: true, ignored: 1},
		"not by the user":   {user: "approval: {ask: now}", workspace: "approval: {ask: later}", later: true, ignored: 1},
		"now is as without": {user: "approval: {ask: now}"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := newSite(t).user(c.user).workspace(c.workspace).load()
			if cfg.AskLater != c.later || len(cfg.Ignored) != c.ignored {
				t.Errorf("later is %v, ignored %v", cfg.AskLater, cfg.Ignored)
			}
		})
	}
}
