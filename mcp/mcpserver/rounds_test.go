package mcpserver_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

// byHand is a client that answers what a call needs by itself.
func (w *world) byHand() *client {
	opt := says(nil).options()
	opt.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	return w.connect(withoutSessions, opt)
}

var approve = mcp.InputResponseMap{"approval": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}}

func (c *client) round(a args, state string, responses mcp.InputResponseMap, name string) (*mcp.CallToolResult, error) {
	return c.CallTool(c.world.Context(), &mcp.CallToolParams{Name: name, Arguments: a, RequestState: state, InputResponses: responses})
}

// ask makes a call that needs approval, and returns its ticket.
func (c *client) ask() string {
	c.world.Helper()
	res, err := c.round(edit, "", nil, "edit")
	c.world.must(err)
	if !res.NeedsInput() || res.RequestState == "" {
		c.world.Fatalf("the call does not ask: %s", text(res))
	}
	return res.RequestState
}

func TestTicketsAreForOneUseOfOneCall(t *testing.T) {
	for name, attack := range map[string]func(t *testing.T, c *client, ticket string) error{
		"replayed": func(t *testing.T, c *client, ticket string) error {
			if res, err := c.round(edit, ticket, mcp.InputResponseMap{"approval": &mcp.ElicitResult{
				Action: "accept", Content: map[string]any{"answer": "no"},
			}}, "edit"); err != nil || codeOf(res) != "DENIED" {
				t.Fatalf("the first use: %v", err)
			}
			_, err := c.round(edit, ticket, approve, "edit")
			return err
		},
		"other arguments": func(_ *testing.T, c *client, ticket string) error {
			_, err := c.round(args{"path": "a.txt", "oldString": "one", "newString": "evil"}, ticket, approve, "edit")
			return err
		},
		"another tool": func(_ *testing.T, c *client, ticket string) error {
			_, err := c.round(edit, ticket, approve, "delete_file")
			return err
		},
		"tampered with": func(t *testing.T, c *client, ticket string) error {
			raw, err := base64.RawURLEncoding.DecodeString(ticket)
			if err != nil {
				t.Fatal(err)
			}
			raw[len(raw)/2] ^= 1
			_, err = c.round(edit, base64.RawURLEncoding.EncodeToString(raw), approve, "edit")
			return err
		},
		"made up": func(_ *testing.T, c *client, _ string) error {
			_, err := c.round(edit, "abc", approve, "edit")
			return err
		},
		"of another server": func(t *testing.T, c *client, _ string) error {
			other := newWorld(t, setup{})
			other.write("a.txt", "one\n")
			_, err := c.round(edit, other.byHand().ask(), approve, "edit")
			return err
		},
		"of another session": func(t *testing.T, c *client, ticket string) error {
			_, err := c.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "edit", Arguments: edit, RequestState: ticket, InputResponses: approve,
				Meta: mcp.Meta{mcpserver.MetaSession: "a secret of another"},
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.write("a.txt", "one\n")
			c := w.byHand()
			err := attack(t, c, c.ask())
			if err == nil || !strings.Contains(err.Error(), "request state") {
				t.Errorf("error %v, want that the state is refused", err)
			}
			if got := w.content("a.txt"); got != "one\n" {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

func TestTicketServesItsCall(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	c := w.byHand()
	// The arguments may be spelled otherwise, as long as they are the same.
	ticket := c.ask()
	if strings.Contains(ticket, "a.txt") {
		t.Error("the ticket can be read")
	}
	res, err := c.round(args{"newString": "two", "oldString": "one", "path": "a.txt"}, ticket, approve, "edit")
	w.must(err)
	if res.IsError || w.content("a.txt") != "two\n" {
		t.Errorf("result %s, file %q", text(res), w.content("a.txt"))
	}
	if rows := w.rows(); len(rows) != 1 {
		t.Errorf("%d rows, want one: the call went on, it was not made again", len(rows))
	}
}

// A client that comes back without an answer is asked no further; the question stays.
func TestComingBackWithoutAnAnswer(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	c := w.byHand()
	res, err := c.round(edit, c.ask(), nil, "edit")
	w.must(err)
	if codeOf(res) != "APPROVAL_REQUIRED" {
		t.Errorf("result %s", text(res))
	}
}

// A call that nobody comes back for ends, and takes its question back.
func TestParkedCallsExpire(t *testing.T) {
	w := newWorld(t, setup{Options: mcpserver.Options{Park: time.Millisecond}})
	w.write("a.txt", "one\n")
	c := w.byHand()
	ticket := c.ask()
	w.settled()
	if open, err := w.store.List(t.Context(), true); err != nil || len(open) != 0 {
		t.Errorf("%d questions are open (%v)", len(open), err)
	}
	if _, err := c.round(edit, ticket, approve, "edit"); err == nil {
		t.Error("an expired ticket was taken")
	}
}

// An answer elsewhere lets a parked call go on; whoever comes back later is given its result.
func TestParkedCallIsAnsweredElsewhere(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	c := w.byHand()
	ticket := c.ask()
	open, err := w.store.List(t.Context(), true)
	w.must(err)
	w.must(w.store.Answer(t.Context(), open[0].ID, approval.Answer{Approved: true, Scope: approval.Once}))
	w.settled()
	if got := w.content("a.txt"); got != "two\n" {
		t.Errorf("the file holds %q", got)
	}
	deny := mcp.InputResponseMap{"approval": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "no"}}}
	res, err := c.round(edit, ticket, deny, "edit")
	w.must(err)
	if res.IsError {
		t.Errorf("result %s", text(res))
	}
}

// There is room for a bounded number of calls that wait.
func TestParkedCallsAreBounded(t *testing.T) {
	w := newWorld(t, setup{Options: mcpserver.Options{Calls: 1000}})
	w.write("a.txt", "one\n")
	c := w.byHand()
	first := c.ask()
	for range 256 {
		c.ask()
	}
	if _, err := c.round(edit, first, approve, "edit"); err == nil {
		t.Error("the oldest call still waits")
	}
}

// Closing the server ends what is parked.
func TestCloseEndsParkedCalls(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	w.byHand().ask()
	w.server.Close()
	rows, err := w.store.List(context.Background(), true)
	w.must(err)
	if len(rows) != 0 {
		t.Errorf("%d questions are open", len(rows))
	}
}
