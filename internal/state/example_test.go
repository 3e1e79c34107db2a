package state_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/state"
)

func Example() {
	dir, err := os.MkdirTemp("", "tongs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := state.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()

	ctx := context.Background()
	_ = db.Audit().Open(ctx, &audit.Row{Call: "c1", Tool: "edit", Started: time.Now(), PID: os.Getpid()})
	_ = db.Audit().Close(ctx, "c1", &audit.Closing{Outcome: audit.OutcomeOK})
	chain, err := db.Audit().Verify(ctx, "")
	fmt.Println(chain.Entries, chain.OK(), err)

	questions := db.Questions(approval.Options{})
	q, _ := questions.Open(ctx, approval.Question{
		Digest: "d", Tool: "edit", Scopes: []approval.Scope{approval.Once}, Expires: time.Now().Add(time.Hour),
	})
	_ = questions.Answer(ctx, q.ID, approval.Answer{Approved: true, Channel: "cli", By: "ada"})
	_, first, _ := questions.Redeem(ctx, "d", "")
	_, second, _ := questions.Redeem(ctx, "d", "")
	fmt.Println(first, second)
	// Output:
	// 2 true <nil>
	// true false
}
