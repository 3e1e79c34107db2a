package tongs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Tool is something an agent can call. Implementations must be safe for concurrent use. Most are made with [New];
// further abilities are optional interfaces: [Planner], [Redirector], [Initializer].
type Tool interface {
	// Spec describes the tool. It always returns the same value, which nobody may change.
	Spec() *Spec
	// Call runs the tool. Its arguments are valid and complete, its effects are decided, and env gives it what they
	// allow and nothing else. A failure the model should see is a Result with an Error or a returned *Error; a *Need
	// asks for more; any other error is a fault of ours.
	Call(ctx context.Context, env *Env, call *Call) (*Result, error)
}

// Planner is implemented by tools that can say what a call would do. Planning has no side effects. A tool without
// it, or an empty plan, counts as one unknown effect for each permission it needs.
type Planner interface {
	Plan(ctx context.Context, view *View, call *Call) (*Plan, error)
}

// Redirector is implemented by tools that stand for another one, such as run_custom_tool: they are never run. The
// target's plan applies, and the rules of both names.
type Redirector interface {
	Redirect(call *Call) (*Redirect, error)
}

// Redirect names the tool that a call is really for.
type Redirect struct {
	Tool    string
	Args    json.RawMessage
	Timeout time.Duration
	// Kinds are the sources the target may come from; empty means any.
	Kinds []SourceKind
}

// Initializer is implemented by lazy tools, made with [Lazy].
type Initializer interface {
	// Init returns the tool that serves the calls. It is called until it succeeds once, never twice at the same time;
	// it may block and it may fail.
	Init(ctx context.Context, in InitContext) (Tool, error)
}

// InitContext is what a lazy definition may know when it is made.
type InitContext struct {
	// Workspace is the host path of the workspace, Dir that of the working directory in it.
	Workspace, Dir string
}

// Spec is a tool as data. Filters, documentation, MCP and provider formats derive from it.
type Spec struct {
	// Name is how the tool is called: letters, digits, _ and -, at most 64.
	Name string
	// Title is the name for people; empty means Name.
	Title string
	// Description tells the model what the tool does: at most 20 tokens, or 40 where Complex.
	Description string
	Complex     bool
	// Aliases are further names, accepted in calls, rules and worker files.
	Aliases []string
	// ArgAliases maps further spellings of arguments to the property they mean. Spellings that differ only in case
	// or in underscores and dashes need none. One of a property further down has the names on the way to it, each with a dot:
	// edits.search.
	ArgAliases map[string]string
	// Toolset is the group that configuration knows the tool by, such as "filesystem".
	Toolset string
	Source  Source
	// Input and Output are the schemas of arguments and value. A nil Output is not checked.
	Input, Output *jsonschema.Schema
	// Needs are the permissions without which the tool cannot be offered; Optional ones widen what it can do.
	Needs, Optional Permissions
	// Default decides where neither a rule nor the plan does.
	Default Decision
	Hints   Hints
	// Control marks a tool that no custom tool may shadow.
	Control bool
	// Extra marks a tool that clients are told of only where configuration offers it: a definition costs a model tokens in every
	// turn. It can be called in any case.
	Extra bool
}

// DisplayName returns the title, or the name where there is none.
func (s *Spec) DisplayName() string {
	if s.Title != "" {
		return s.Title
	}
	return s.Name
}

// Hints tell clients what to expect. They are for display and ordering; no decision rests on them.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld bool
}

// Permissions is a set of what a tool may do.
type Permissions uint8

// The permissions.
const (
	Read Permissions = 1 << iota
	Write
	Execute
	Network

	// AllPermissions is every permission there is.
	AllPermissions = Read | Write | Execute | Network
)

var permissionNames = [...]string{"read", "write", "execute", "network"}

// Has reports whether the set holds all of q.
func (p Permissions) Has(q Permissions) bool { return p&q == q }

// List returns the names of the permissions in the set.
func (p Permissions) List() []string {
	list := []string{}
	for i, name := range permissionNames {
		if p&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// String lists the names, separated by commas.
func (p Permissions) String() string { return strings.Join(p.List(), ",") }

// MarshalJSON writes the set as an array of names.
func (p Permissions) MarshalJSON() ([]byte, error) { return json.Marshal(p.List()) }

// UnmarshalJSON reads an array of names.
func (p *Permissions) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return err
	}
	set, err := ParsePermissions(names...)
	*p = set
	return err
}

// ParsePermissions returns the set of the named permissions.
func ParsePermissions(names ...string) (set Permissions, err error) {
	for _, name := range names {
		bit := Permissions(0)
		for i, known := range permissionNames {
			if name == known {
				bit = 1 << i
			}
		}
		if bit == 0 {
			return 0, fmt.Errorf("permission %q is not one of %s", name, strings.Join(permissionNames[:], ", "))
		}
		set |= bit
	}
	return set, nil
}
