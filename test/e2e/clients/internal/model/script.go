package model

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// File is the file of the workspace that the conversation is about, and what is in it.
const (
	File    = "notes.txt"
	Content = "alpha\nbeta\ngamma\n"
	// Edited is what is in it in the end.
	Edited = "alpha\nBETA\nGAMMA\n"
	// Prompt makes a client begin.
	Prompt = "Tidy up notes.txt with the tools of tongs."
	// ShownPrompt makes it begin the conversation for people to look at.
	ShownPrompt = "The total of the cart ignores counts. Fix it, and release 1.3.0."
	// Final is the last that the model says.
	Final = "The notes are tidy."
	// Early and Late are what the two edits put in: the first is approved while the call waits, the second after it came back.
	Early = "BETA"
	Late  = "GAMMA"
)

// step is one call of the conversation.
type step struct {
	name string
	tool string
	args string
	// wrong is whether its arguments are; byClient whether it is the client that says so.
	wrong, byClient bool
	// wants are what its result must have, any of it where the client words it.
	wants []string
	// any accepts every result.
	any bool
	// native are names of the client's own tool, of which it offers one; then tool is empty.
	native []string
}

// steps are what the model does, one call after the other.
func (s *Script) steps() []step {
	if len(s.Native) > 0 {
		var list []step
		for i, n := range s.Native {
			list = append(list, step{name: fmt.Sprintf("native%d", i), native: n.Tools, args: n.Args, any: true})
		}
		return list
	}
	if s.Sleep > 0 {
		seconds := int(s.Sleep.Seconds())
		args := fmt.Sprintf(`{"command":"sleep %d","timeout":%d}`, seconds, seconds+60)
		return []step{{name: "sleep", tool: "shell", args: args, any: true}}
	}
	if s.Shown {
		return []step{
			{name: "edit", tool: "edit", args: `{"path":"cart/cart.go","oldString":"sum += it.Price","newString":"sum += it.Price * it.Count"}`, any: true},
			{name: "command", tool: "shell", args: `{"command":"./release.sh 1.3.0"}`, any: true},
		}
	}
	if s.Observe {
		return []step{
			{name: "reads", tool: "read_file", args: `{"path":"notes.txt"}`, any: true},
			{name: "writes", tool: "write_file", args: `{"path":"new.txt","content":"new"}`, any: true},
			{name: "destroys", tool: "edit", args: `{"path":"notes.txt","oldString":"beta","newString":"` + Early + `"}`, any: true},
			{name: "executes", tool: "shell", args: `{"command":"echo line"}`, any: true},
		}
	}
	return []step{
		{name: "list", tool: "list_directory", args: `{"path":"."}`, wants: []string{File}}, // has a structured value
		{name: "read", tool: "read_file", args: `{"path":"notes.txt"}`, wants: []string{"alpha", "beta", "gamma"}},
		{name: "edit", tool: "edit", args: `{"path":"notes.txt","oldString":"beta","newString":"` + Early + `"}`, wants: []string{"Edited", File}},
		{name: lateEdit, tool: "edit", args: `{"path":"notes.txt","oldString":"gamma","newString":"` + Late + `"}`, wants: []string{"Edited", File}},
		{
			name: "shell", tool: "shell", args: `{"command":"for i in 1 2 3; do echo line $i; sleep 0.2; done"}`,
			wants: []string{"line 1\nline 2\nline 3"},
		},
		{
			name: "wrong", tool: "read_file", args: `{"path":"notes.txt","offset":"second","limit":-3}`,
			wrong: true, byClient: s.Validates, wants: []string{"offset", "limit"},
		},
		{
			name: "unknown", tool: "read_file", args: `{"path":"notes.txt","firstRow":2,"rowCount":2}`,
			wrong: true, wants: []string{"firstRow", "rowCount", "offset", "limit"},
		},
		{name: "recover", tool: "read_file", args: `{"path":"notes.txt","offset":2,"limit":2}`, wants: []string{Early, Late}},
	}
}

// lateEdit is the edit that is approved after its call came back.
const lateEdit = "edit-late"

// Rows are what the log says of the calls of the conversation, oldest first: tool, outcome and code. With forms nobody
// is late, since the client asks.
func (s *Script) Rows(forms bool) []string {
	var rows []string
	for _, st := range s.steps() {
		switch {
		case st.byClient: // it gets no further
		case st.wrong:
			rows = append(rows, st.tool+" error "+invalid)
		case st.name == lateEdit && !forms:
			rows = append(rows, st.tool+" refused "+required, st.tool+" ok")
		default:
			rows = append(rows, st.tool+" ok")
		}
	}
	return rows
}

// The codes of a call that waits for a person, and of one with wrong arguments.
const (
	required = "APPROVAL_REQUIRED"
	invalid  = "INVALID_ARGS"
)

// maxRetries is how often the same call is made again after it.
const maxRetries = 3

// Script decides what the model says. It has no memory of its own: the conversation that a client sends says how far
// it is, so that a client may send the same request twice.
type Script struct {
	// Refused is called before a call that needs approval is made again, with the text of the refusal. Nil does not wait.
	Refused func(ctx context.Context, text string) error
	// Validates is whether the client checks arguments itself before it calls.
	Validates bool
	// Sleep makes the conversation one command that sleeps as long, to see whether the client has the patience.
	Sleep time.Duration
	// Observe accepts every result and never makes a call again, to see what a client lets through.
	Observe bool
	// Shown makes the conversation two calls that ask, for people to look at: an edit, and a command that runs on a copy.
	Shown bool
	// Native makes the conversation calls of the client's own tools.
	Native []Native
}

// Native is a call of one of the client's own tools: of the first of these names that it offers.
type Native struct {
	Tools []string
	Args  string
}

// Problem is a conversation that does not go as the script wants it.
type Problem struct{ Step, Message string }

func (p *Problem) Error() string { return fmt.Sprintf("step %s: %s", p.Step, p.Message) }

// Next returns what the model says to a request. The reply to a request that offers no tool of Tongs, such as that for
// a title, is text.
func (s *Script) Next(ctx context.Context, r *Request) (Reply, error) {
	conversation := s.steps()
	at, retries := 0, 0
	var last Result
	for _, res := range r.Results {
		if strings.HasPrefix(res.ID, searchID) {
			continue
		}
		if at == len(conversation) {
			return Reply{}, &Problem{"end", "there is a result after the last call"}
		}
		last = res
		if !s.Observe && strings.Contains(res.Text, required) && retries < maxRetries {
			retries++
			continue
		}
		if err := conversation[at].check(res); err != nil {
			return Reply{}, err
		}
		at, retries = at+1, 0
	}
	if at == len(conversation) {
		return Reply{Text: Final}, nil
	}
	next := conversation[at]
	tool, ok := r.find(next.tool)
	if next.native != nil {
		if tool, ok = r.own(next.native); !ok { // a request for a title, say
			return Reply{Text: "Notes"}, nil
		}
	}
	if !ok {
		return s.search(r, next)
	}
	if retries > 0 && s.Refused != nil {
		if err := s.Refused(ctx, last.Text); err != nil {
			return Reply{}, &Problem{next.name, err.Error()}
		}
	}
	id := fmt.Sprintf("call_%s_%d", next.name, retries)
	return Reply{Call: &Call{ID: id, Tool: tool, Args: json.RawMessage(next.args)}}, nil
}

func (s step) check(res Result) error {
	problem := func(format string, args ...any) error {
		return &Problem{s.name, fmt.Sprintf(format, args...) + fmt.Sprintf("; the result is %.2000q", res.Text)}
	}
	if s.any {
		return nil
	}
	if got, want := strings.Contains(res.Text, invalid), s.wrong && !s.byClient; got != want {
		return problem("%s is in it: got %t, want %t", invalid, got, want)
	}
	if res.Failed && !s.wrong {
		return problem("the call failed")
	}
	has := func(want string) bool { return strings.Contains(res.Text, want) }
	if s.byClient {
		if !slices.ContainsFunc(s.wants, has) {
			return problem("none of %q is in it", s.wants)
		}
		return nil
	}
	for _, want := range s.wants {
		if !has(want) {
			return problem("%q is not in it", want)
		}
	}
	return nil
}

// searchID begins the identifiers of calls that look for tools, which are no part of the conversation.
const searchID = "search_"

// search asks a client that does not offer the tool, but a search for tools, for all that the conversation needs. A
// client that has neither gets text.
func (s *Script) search(r *Request, next step) (Reply, error) {
	searched := slices.ContainsFunc(r.Results, func(res Result) bool { return strings.HasPrefix(res.ID, searchID+next.tool) })
	for _, t := range r.Tools {
		if t.Name != "ToolSearch" && t.Hosted != "tool_search" {
			continue
		}
		if searched {
			return Reply{}, &Problem{next.name, fmt.Sprintf("the client's search does not find %s", next.tool)}
		}
		query := "tongs " + next.tool
		if t.Name == "ToolSearch" {
			query = "select:mcp__tongs__" + next.tool
		}
		args, err := json.Marshal(map[string]any{"query": query, "limit": 20, "max_results": 20})
		return Reply{Call: &Call{ID: searchID + next.tool, Tool: t, Args: args}}, err
	}
	if len(r.Results) > 0 {
		return Reply{}, &Problem{next.name, fmt.Sprintf("the client does not offer %s", next.tool)}
	}
	return Reply{Text: "Notes"}, nil
}
