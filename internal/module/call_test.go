package module_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// A function knows which call it runs for, in every language.
func TestFunctionKnowsItsCall(t *testing.T) {
	for file, source := range map[string]string{
		"which.js": `export const which = {
  description: 'Says it.', inputSchema: { jsonSchema: { type: 'object', properties: {} } },
  execute: async (_, o) => [o.callID, o.sessionID, o.messageID, o.agent].join('|'),
};
`,
		"which.py": `def which(ctx) -> str:
    """Says it."""
    return "|".join([ctx.call_id, ctx.session_id, ctx.message_id, ctx.agent])
`,
		"which.go": `package main

import (
	"context"
	"fmt"
)

// Says it.
func Which(ctx context.Context) string {
	return fmt.Sprintf("%v|%v|%v|%v", ctx.Value("callId"), ctx.Value("sessionId"), ctx.Value("messageId"), ctx.Value("agent"))
}
`,
	} {
		t.Run(file, func(t *testing.T) {
			b := newBench(t, workbench.Options{Mode: tongs.ModeAll}, file, source)
			b.ready(file, "which")
			res := b.Engine.Call(t.Context(), &tongs.Call{
				ID: "c1", Session: "s1", Message: "m1", Agents: []string{"main", "helper"}, Tool: "which",
			})
			if res.Content != "c1|s1|m1|helper" {
				t.Errorf("%q, %v", res.Content, res.Error)
			}
		})
	}
}
