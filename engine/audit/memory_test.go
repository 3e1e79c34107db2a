package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/audit/audittest"
)

func TestMemory(t *testing.T) {
	audittest.Run(t, func(*testing.T) audit.Log { return audit.NewMemory() })
}

func TestMemoryIsBounded(t *testing.T) {
	log := audit.NewMemoryWith(audit.MemoryOptions{Entries: 30})
	head := ""
	for i := range 25 {
		audittest.Write(t, log, audittest.Row(fmt.Sprintf("c%d", i), "x"), &audit.Closing{Outcome: audit.OutcomeOK})
		if i == 20 {
			head = audittest.Whole(t, log, "").Head
		}
	}
	if chain := audittest.Whole(t, log, head); chain.Entries != 30 || chain.Pruned != 45 {
		t.Errorf("%+v", chain)
	}
	rows, err := log.Rows(t.Context(), audit.Filter{})
	if err != nil || len(rows) != 10 || rows[9].Call != "c15" {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestAlive(t *testing.T) {
	if !audit.Alive(os.Getpid(), time.Now()) {
		t.Error("this process is not alive")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if audit.Alive(cmd.Process.Pid, time.Now()) {
		t.Error("a process that ended is alive")
	}
}

func TestRowOfAProcessThatIsGone(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	log := audit.NewMemory()
	row := audittest.Row("c", "x")
	row.PID = cmd.Process.Pid
	if err := log.Open(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	rows, err := log.Rows(t.Context(), audit.Filter{Outcome: audit.OutcomeInterrupted})
	if err != nil || len(rows) != 1 || !rows[0].Interrupted {
		t.Errorf("%+v, %v", rows, err)
	}
}

// The chain is as documented: anybody can check an export with a few lines.
func TestLinkIsAsDocumented(t *testing.T) {
	e := audit.Entry{Seq: 7, Row: 5, Kind: audit.EntryIntent, Data: json.RawMessage(`{"a":1}`)}
	want := "3d7cce2388b58f473fdb1335d74a2d0671881661e79ddef48fc71f51b8d01529"
	if got := e.Link(audit.Hash{}).String(); got != want {
		t.Errorf("the form of the chain changed: %s", got)
	}
	for name, change := range map[string]func(*audit.Entry){
		"seq":  func(e *audit.Entry) { e.Seq++ },
		"row":  func(e *audit.Entry) { e.Row++ },
		"kind": func(e *audit.Entry) { e.Kind = audit.EntryClose },
		"data": func(e *audit.Entry) { e.Data = json.RawMessage(`{"a":2}`) },
	} {
		other := e
		change(&other)
		if other.Link(audit.Hash{}) == e.Link(audit.Hash{}) {
			t.Errorf("%s does not count", name)
		}
	}
}

func Example() {
	ctx := context.Background()
	log := audit.NewMemory()
	_ = log.Open(ctx, &audit.Row{
		Call: "c1", Tool: "read_file", Started: time.Now(), PID: os.Getpid(),
		Args: json.RawMessage(`{"path":"a","token":"abc"}`),
	})
	_ = log.Close(ctx, "c1", &audit.Closing{Outcome: audit.OutcomeOK})

	rows, _ := log.Rows(ctx, audit.Filter{Tool: "read_file"})
	chain, _ := log.Verify(ctx, "")
	fmt.Println(string(rows[0].Args), rows[0].Outcome(), chain.Entries, chain.OK())
	// Output: {"path":"a","token":"[redacted secret]"} ok 2 true
}
