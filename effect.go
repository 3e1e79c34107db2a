package tongs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// EffectKind is what an effect does to its target.
type EffectKind uint8

// The kinds of effect.
const (
	EffectRead EffectKind = 1 << iota
	EffectWrite
	EffectDelete
	EffectExecute
	EffectNetwork
)

var effectNames = []struct {
	kind EffectKind
	name string
}{
	{EffectRead, "read"},
	{EffectWrite, "write"},
	{EffectDelete, "delete"},
	{EffectExecute, "execute"},
	{EffectNetwork, "network"},
}

// String returns the kind's name, such as "write".
func (k EffectKind) String() string { return EffectKinds(k).String() }

// MarshalText implements encoding.TextMarshaler.
func (k EffectKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *EffectKind) UnmarshalText(text []byte) error {
	for _, e := range effectNames {
		if e.name == string(text) {
			*k = e.kind
			return nil
		}
	}
	return fmt.Errorf("effect %q is not one of read, write, delete, execute, network", text)
}

// OnPath reports whether effects of this kind have a path as their target.
func (k EffectKind) OnPath() bool { return k&(EffectRead|EffectWrite|EffectDelete) != 0 }

// Permission returns the permission that a tool needs to have such an effect.
func (k EffectKind) Permission() Permissions {
	switch k {
	case EffectRead:
		return Read
	case EffectWrite, EffectDelete:
		return Write
	case EffectExecute:
		return Execute
	default:
		return Network
	}
}

// EffectKinds is a set of kinds. The empty set often means any; the user of it says so.
type EffectKinds uint8

// Kinds returns the set of the given kinds.
func Kinds(kinds ...EffectKind) (set EffectKinds) {
	for _, k := range kinds {
		set |= EffectKinds(k)
	}
	return set
}

// Has reports whether the set holds k.
func (s EffectKinds) Has(k EffectKind) bool { return s&EffectKinds(k) != 0 }

// String lists the names, separated by commas.
func (s EffectKinds) String() string {
	var names []string
	for _, e := range effectNames {
		if s.Has(e.kind) {
			names = append(names, e.name)
		}
	}
	return strings.Join(names, ",")
}

// MarshalText implements encoding.TextMarshaler.
func (s EffectKinds) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *EffectKinds) UnmarshalText(text []byte) error {
	*s = 0
	for name := range strings.SplitSeq(string(text), ",") {
		if name == "" {
			continue
		}
		var k EffectKind
		if err := k.UnmarshalText([]byte(name)); err != nil {
			return err
		}
		*s |= EffectKinds(k)
	}
	return nil
}

// WorkspaceRoot is the name of the root that relative paths are in.
const WorkspaceRoot = ""

// RepositoryRoot is the name of the root that holds the git repository of the workspace where that is elsewhere: of a linked
// worktree, a submodule, or a directory of a work tree. No call can name a path in it. Programs change it as they change
// the workspace, and rules, zones and protected names see it as .git in the workspace.
const RepositoryRoot = ".git"

// Path is a resolved place: no link is followed on the way to it, and Rel is clean, slash-separated and does not
// leave Root. Rules, effects and grants speak of paths only in this form, never of the spelling a model used.
type Path struct {
	// Root is the name of the root (a zone), WorkspaceRoot for the workspace itself.
	Root string `json:"root,omitempty"`
	// Rel is the path below the root; "." is the root itself.
	Rel string `json:"rel"`
}

// String spells the path as a tool call would: "src/a.go" in the workspace, "/cache/a" in the zone cache.
func (p Path) String() string {
	if p.Root == WorkspaceRoot {
		return p.Rel
	}
	return path.Join("/", p.Root, p.Rel)
}

// Judged returns the path that rules, zones and names are matched with: what is in the repository of the workspace is in
// its .git, wherever that is.
func (p Path) Judged() Path {
	if p.Root != RepositoryRoot {
		return p
	}
	return Path{Root: WorkspaceRoot, Rel: path.Join(RepositoryRoot, p.Rel)}
}

// Contains reports whether q is p or below it. The workspace contains its repository.
func (p Path) Contains(q Path) bool {
	if p.Root != q.Root {
		p, q = p.Judged(), q.Judged()
	}
	return p.Root == q.Root && (p.Rel == "." || p.Rel == q.Rel || strings.HasPrefix(q.Rel, p.Rel+"/"))
}

// Join returns the path of the named entry of the directory p. The name must be a single clean element.
func (p Path) Join(name string) Path { return Path{Root: p.Root, Rel: path.Join(p.Rel, name)} }

// Dir returns the directory that p is in; the root is its own directory.
func (p Path) Dir() Path { return Path{Root: p.Root, Rel: path.Dir(p.Rel)} }

// Version identifies the state of a file that somebody looked at, by its stat identity and, where that could not
// tell two states apart, its content. It is opaque; two equal versions are the same state. Empty means that nobody looked.
type Version string

// Absent is the version of a path where nothing exists.
const Absent Version = "absent"

// Effect is one thing that a call would do. Policy, questions, grants and the sandbox speak of effects only.
type Effect struct {
	Kind EffectKind `json:"kind"`
	// Path is the target of a read, write or delete. A read of a directory covers everything below it except what
	// must be asked for by name; so does a delete.
	Path Path `json:"path,omitzero"`
	// Argv is the command of an execute effect, after wrappers were taken off. A word that is only known when it runs is
	// the start of it that is known, a NUL byte, and its source.
	Argv []string `json:"argv,omitempty"`
	// Env are the variables that the command is given beyond those that every command has, as NAME=value and sorted by
	// name: what it runs may depend on them. A value that is only known when it runs is written as in Argv.
	Env []string `json:"env,omitempty"`
	// Host is the target of a network effect: a lower-case name or address, with ":port" where it is not the scheme's own.
	Host string `json:"host,omitempty"`
	// Version is what the plan saw at Path, or the content hash of the program that would execute.
	Version Version `json:"version,omitempty"`
	// Unknown means that the target cannot be told before it happens: anything that the permission allows.
	Unknown bool `json:"unknown,omitempty"`
	// MustAsk effects are asked for in every mode and never remembered.
	MustAsk bool `json:"mustAsk,omitempty"`
	// Steers marks a change of instructions that agents follow, such as AGENTS.md: it is asked for in every mode that asks,
	// whatever the rules say, and an approval is remembered for the session at most.
	Steers bool `json:"steers,omitempty"`
	// NoGrant effects are never answered by a remembered grant.
	NoGrant bool `json:"noGrant,omitempty"`
	// Incidental marks an effect that comes with another one of the call, such as the new file that a command makes: where
	// no rule covers it, it is allowed if the others are.
	Incidental bool `json:"incidental,omitempty"`
	// Confined marks an unknown effect on paths that reaches no more than the full sandbox shows to every program of the
	// call, or gives to it alone. Where nobody said anything about such a read, the sandbox decides what can be read. In a
	// Permit the mark is a condition: the program runs in the full sandbox or not at all.
	Confined bool `json:"confined,omitempty"`
	// Sends marks a network effect that carries data out: a body, a credential, a method other than GET or HEAD.
	Sends bool `json:"sends,omitempty"`
	// Private marks a connection that may lead to an address of this machine or of a private network. It is another effect
	// than one to the same host without the mark.
	Private bool `json:"private,omitempty"`
	// Push is what a push of git changes at Host, nil for all else: rules about pushes look at it.
	Push *Push `json:"push,omitempty"`
	// Undoable marks a write or delete of which the journal keeps what it replaces, so that undo brings it back. Own marks
	// one of a file that the session made and that is as the session left it. The engine sets both; those of a tool do not
	// count.
	Undoable bool `json:"undoable,omitempty"`
	Own      bool `json:"own,omitempty"`
	// Repository marks a write of a git directory by which git records its work: branches, the index, what is in progress. It
	// covers those records and nothing that git runs or obeys. The engine sets it; of tools only built-in ones may.
	Repository bool `json:"repository,omitempty"`
	// Why tells a person what is special about it: "protected: git hooks run on commit".
	Why string `json:"why,omitempty"`
}

// Push is a push of git.
type Push struct {
	// Refs are the full names of the references that it changes, such as refs/heads/main.
	Refs []string `json:"refs"`
	// Plain says that it goes to a remote that the repository of the workspace is configured with, only adds to what is there, and
	// tells the server nothing else. Only such a push can be pre-approved.
	Plain bool `json:"plain,omitempty"`
}

// Target returns what the effect is about, for people: a path, a command, a host, or "anything".
func (e Effect) Target() string {
	switch {
	case e.Unknown:
		return "anything"
	case e.Kind.OnPath():
		return e.Path.String()
	case e.Kind == EffectExecute:
		words := make([]string, 0, len(e.Env)+len(e.Argv))
		for _, assignment := range e.Env {
			words = append(words, shownAssignment(assignment))
		}
		for _, word := range e.Argv {
			words = append(words, word[strings.IndexByte(word, 0)+1:])
		}
		return strings.Join(words, " ")
	default:
		return e.Host
	}
}

// shownAssignment spells an assignment so that one sees where its value ends.
func shownAssignment(assignment string) string {
	name, value, _ := strings.Cut(assignment, "=")
	if at := strings.IndexByte(assignment, 0); at >= 0 {
		return assignment[at+1:]
	}
	if strings.ContainsAny(value, " \t\n\r'\"\\`$;&|<>()*?[]{}#~") {
		value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
	}
	return name + "=" + value
}

// String describes the effect in a few plain words: "write src/a.go".
func (e Effect) String() string { return e.Kind.String() + " " + e.Target() }

// Same reports whether two effects do the same thing to the same target in the same state: what a person was shown
// for one was shown for the other. Why is for reading and does not count, nor does whether it could be undone at the time.
func (e Effect) Same(o Effect) bool {
	return e.SameTarget(o) && e.Version == o.Version && e.Sends == o.Sends && e.Private == o.Private &&
		e.MustAsk == o.MustAsk && e.Steers == o.Steers && e.NoGrant == o.NoGrant
}

// ByName reports whether the effect is asked for because of the name of what it is about: who decided it decided that name.
func (e Effect) ByName() bool { return e.MustAsk || e.Steers }

// SameTarget reports whether two effects do the same thing to the same target, in whatever state it is.
func (e Effect) SameTarget(o Effect) bool {
	return e.Kind == o.Kind && e.Unknown == o.Unknown && e.Path == o.Path && e.Host == o.Host && e.Repository == o.Repository &&
		slices.Equal(e.Argv, o.Argv) && slices.Equal(e.Env, o.Env)
}

// Gravity says how much a person must see an effect before others: data that leaves the machine first, then secrets, protected
// names, instructions for agents, deletes, what cannot be told, connections, programs and writes. Reads come last, also those
// of which only the sandbox knows what they may find.
func (e Effect) Gravity() int {
	switch {
	case e.Sends:
		return 11
	case e.MustAsk && e.Kind == EffectRead:
		return 10
	case e.MustAsk:
		return 9
	case e.Steers:
		return 8
	case e.Kind == EffectDelete:
		return 7
	case e.Kind == EffectRead && e.Confined:
		return 0
	case e.Unknown:
		return 6
	case e.Kind == EffectNetwork:
		return 5
	case e.Kind == EffectExecute && (e.Why != "" || len(e.Argv) > 0 && strings.Contains(e.Argv[0], "/")):
		return 4
	case e.Kind == EffectExecute:
		return 3
	case e.Kind == EffectWrite && e.Path.Root != WorkspaceRoot:
		return 3
	case e.Kind == EffectWrite && e.Version != Absent:
		return 2
	case e.Kind == EffectWrite:
		return 1
	default:
		return 0
	}
}

// Kind says how a person should look at a question.
type Kind string

// The kinds of question, mildest first.
const (
	KindRead        Kind = "read"
	KindWrite       Kind = "write"
	KindExecute     Kind = "execute"
	KindDestructive Kind = "destructive"
)

// Plan is what a call would do.
type Plan struct {
	Effects []Effect
	// Default decides where no rule applies; nil means the spec's default.
	Default *Decision
	// Say is what the author of the tool decided about this call; nil means nothing. To allow a call it counts only for
	// built-in and reviewed tools. Built-in tools use Default instead.
	Say *Decision
	// Message tells a person what the call would do, in one sentence. Empty is made from the effects.
	Message string
	// Tells are what the call will do in words, one sentence each, where effects cannot say it: what a git command does to a
	// repository. They are for people and decide nothing.
	Tells []string
	// Kind is for the person; empty is derived from the effects.
	Kind Kind
	// Contained says that the call acts through one program that Env.Commands runs to its end, and in no other way. Where
	// nobody said anything about it, such a call may run on a copy of the files first, and be judged by what it did.
	Contained bool
	// Records says that git records something, by what the call names. Where rules let such a call run and it is Contained, it
	// runs on a copy, so that what git records can be undone.
	Records bool
	// Preview returns what to show before approval, usually a unified diff. It is called only when somebody is asked;
	// nil means there is nothing to show.
	Preview func(ctx context.Context) (string, error)
	// Whole writes all of what Preview begins. Preview sets it where it leaves something out; nil means that it does not.
	Whole func(ctx context.Context, w io.Writer) error
}

// Explanation is a judged call that was not executed.
type Explanation struct {
	Tool     string          `json:"tool"`
	Via      string          `json:"via,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	Repaired []string        `json:"repaired,omitempty"`
	Effects  []Effect        `json:"effects"`
	Decision Decision        `json:"decision"`
	// Rule is the rule that decided, or the name of the default that did.
	Rule string `json:"rule"`
	// Reason says why, in one sentence for a person.
	Reason string `json:"reason"`
	// Deferred says that the call would run on a copy, and what it changes would be decided then.
	Deferred bool `json:"deferred,omitempty"`
	// KeepsUndoable says that of these changes those are kept without a question that can be undone.
	KeepsUndoable bool   `json:"keepsUndoable,omitempty"`
	Message       string `json:"message,omitempty"`
	// Tells are the plan's.
	Tells []string `json:"tells,omitempty"`
	Kind  Kind     `json:"kind,omitempty"`
}

// Headline tells in a few words what will happen to the call.
func (x *Explanation) Headline() string {
	switch {
	case x.Decision != Blocked && x.Deferred && x.KeepsUndoable:
		return "runs on a copy; you are asked only about changes that cannot be undone"
	case x.Decision == PreApproved && x.Deferred:
		return "runs on a copy; what it changed is decided then"
	case x.Decision == PreApproved:
		return "runs without a question"
	case x.Decision == Ask && x.Deferred:
		return "runs on a copy; you are asked about what it changed"
	case x.Decision == Ask:
		return "you are asked before it runs"
	default:
		return "blocked; it does not run"
	}
}
