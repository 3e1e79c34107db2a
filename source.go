package tongs

import "time"

// SourceKind says where a tool comes from.
type SourceKind string

// The kinds of source. Empty counts as built in.
const (
	SourceBuiltin SourceKind = "builtin" // compiled into the program
	SourceForge   SourceKind = "forge"   // a directory tool of the forge
	SourceModule  SourceKind = "module"  // a module beside a worker or configuration file
	SourceMCP     SourceKind = "mcp"     // an MCP server
	SourceWorker  SourceKind = "worker"  // another worker
)

// Source is the identity of what would run. Grants bind it whole: the same name from another source, or at another
// digest, is another tool.
type Source struct {
	Kind   SourceKind `json:"kind,omitempty"`
	Name   string     `json:"name,omitempty"`
	Digest string     `json:"digest,omitempty"`
}

// BuiltIn reports whether the tool is compiled into the program.
func (s Source) BuiltIn() bool { return s.Kind == "" || s.Kind == SourceBuiltin }

// Status says how far a tool, or what it comes from, can be used.
type Status string

// The states of tools and of their sources.
const (
	// StatusReady: as it was when a person approved it.
	StatusReady Status = "ready"
	// StatusChanged: not as it was when a person approved it.
	StatusChanged Status = "changed"
	// StatusQuarantined: a server describes the tool differently than when a person approved it.
	StatusQuarantined Status = "quarantined"
	// StatusUnapproved: nobody approved it yet.
	StatusUnapproved Status = "not approved"
	// StatusDisabled: a person switched it off, or the file that names it is not trusted.
	StatusDisabled Status = "disabled"
	// StatusBroken: it cannot be used, and Detail says why.
	StatusBroken Status = "broken"
	// StatusFailed: a server did not start, or ended, and Detail says why.
	StatusFailed Status = "failed"
	// StatusUnseen: listed in the configuration; the server was never asked about it.
	StatusUnseen Status = "not seen yet"
	// StatusGone: the server does not have it any more.
	StatusGone Status = "gone"
	// StatusEmpty: the configuration exposes none of its tools.
	StatusEmpty Status = "no tools"
)

// SourceState is what is known of a source of tools: a directory of the forge, a module, an MCP server, a worker.
type SourceState struct {
	Kind   SourceKind `json:"kind"`
	Name   string     `json:"name"`
	Status Status     `json:"status"`
	// Detail says why the status is what it is, and Next what a person does about it, usually a command.
	Detail string `json:"detail,omitempty"`
	Next   string `json:"next,omitempty"`
	// Where is the directory, file, command or URL; Origin is the file that configures it.
	Where       string `json:"where,omitempty"`
	Origin      string `json:"origin,omitempty"`
	Language    string `json:"language,omitempty"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	// Digest is that of the source as it is now, empty where there is none.
	Digest     string    `json:"digest,omitempty"`
	ApprovedBy string    `json:"approvedBy,omitempty"`
	ApprovedAt time.Time `json:"approvedAt,omitzero"`
	// Running is true for a server that runs; Login is who issued the login to it.
	Running bool   `json:"running,omitempty"`
	Login   string `json:"login,omitempty"`
	// Tools are those that it exposes.
	Tools []ToolState `json:"tools"`
}

// ToolState is what is known of one tool of a source.
type ToolState struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Remote is what the server calls it, where that differs.
	Remote string `json:"remote,omitempty"`
}
