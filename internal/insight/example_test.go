package insight_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/insight"
)

func ExampleSummarize() {
	ctx := context.Background()
	log := audit.NewMemory()
	_ = log.Open(ctx, &audit.Row{Call: "c1", Tool: "grep", Started: time.Now().Add(-time.Minute), PID: os.Getpid()})
	_ = log.Close(ctx, "c1", &audit.Closing{Outcome: audit.OutcomeOK, Ran: 4 * time.Millisecond, Output: 9000, Shown: 1000})

	s, _ := insight.Summarize(ctx, log, insight.Last(time.Hour, time.Now()), audit.Filter{})
	fmt.Println(s.Calls, s.Tools[0].Tool, s.Tools[0].P50, s.Bytes.Saved)
	// Output: 1 grep 4ms 8000
}
