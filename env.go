package tongs

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"time"
)

// View is what a tool sees while it plans: nothing in it can change anything. It is valid during the call only.
type View struct {
	// Call is the call that is planned.
	Call CallInfo
	// Granted are the permissions that the tool has here: those it needs, and those of its optional ones that are allowed.
	Granted Permissions
	Files   FileView
	State   StateView
	// Dir is the working directory of the call.
	Dir Path
}

// Env is what a tool may reach while it runs, minted by the engine from the decided effects. It is dead once the
// call returned: a tool that goes on in the background can do nothing more.
type Env struct {
	// Call is the call that runs.
	Call    CallInfo
	Granted Permissions
	Files   Files
	State   State
	Dir     Path
	// Commands and HTTP refuse what was not decided; they are never nil.
	Commands Commands
	HTTP     HTTP
	// Caller calls other tools on behalf of this one, each on its own walk.
	Caller Caller
	// Output returns the named stream ("stdout", "stderr"). What is written to it reaches the caller as updates and
	// is kept outside memory.
	Output func(name string) Stream
	// Update reports progress. It is safe for concurrent use.
	Update func(Update)
}

// FileView reads below the roots of a call. Every failure is an *Error with a code.
type FileView interface {
	// Resolve turns a spelling (relative to Dir, a zone path, or a host path inside a root) into a path, following
	// every link; what does not exist resolves as far as it does. A spelling that leads outside is INVALID_PATH.
	Resolve(name string) (Path, error)
	// ResolveEntry is Resolve, but does not follow a link that is the last element: the name itself is meant.
	ResolveEntry(name string) (Path, error)
	// Stat describes what is at p, without following a link there.
	Stat(p Path) (FileInfo, error)
	// Version returns the state of what is at p, Absent where nothing is.
	Version(p Path) (Version, error)
	// Open opens a regular file. It never blocks on a FIFO or a device, and follows no link.
	Open(p Path) (File, error)
	// ReadDir yields the entries of a directory in no particular order. After an error it yields no more.
	ReadDir(p Path) iter.Seq2[FileInfo, error]
	// Host returns the path on this machine, for messages and commands.
	Host(p Path) string
}

// FileInfo describes a file.
type FileInfo struct {
	Path     Path
	Type     FileType
	Size     int64
	Modified time.Time
	Mode     fs.FileMode
	// Links is the number of hard links, 0 where it is not known.
	Links uint64
	// Target is where a symbolic link points, as it is written in it.
	Target string
}

// FileType is what a directory entry is.
type FileType string

// The types of file. Other is a FIFO, a socket or a device.
const (
	FileRegular   FileType = "file"
	FileDirectory FileType = "directory"
	FileSymlink   FileType = "symlink"
	FileOther     FileType = "other"
)

// File is an open regular file.
type File interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Info describes the opened file.
	Info() FileInfo
	// Version returns the state of the opened file now.
	Version() (Version, error)
}

// Files reads and writes what was decided. Writing holds the path's lock, across processes, and checks under it that
// the file is still in the state that was decided; otherwise, and for a path that nobody decided, it returns a *Need.
type Files interface {
	FileView
	// Replace gives the file at p the content that write produces, all or nothing: a reader sees the old file or the
	// new one. It keeps the mode and owner of what it replaces, and returns the new state.
	Replace(ctx context.Context, p Path, opt Replacing, write func(io.Writer) error) (Version, error)
	// Remove deletes what is at p and returns the paths that are gone. A directory with entries needs recursive.
	Remove(ctx context.Context, p Path, recursive bool) ([]Path, error)
	// Rename moves a file, a link or a directory, also across devices.
	Rename(ctx context.Context, from, to Path, opt Renaming) error
}

// Replacing are the options of Files.Replace.
type Replacing struct {
	// Expect is the state that the new content was made from; empty means the decided one.
	Expect Version
	// MakeDirs creates missing parents.
	MakeDirs bool
}

// Renaming are the options of Files.Rename.
type Renaming struct {
	Overwrite, MakeDirs bool
}

// StateView reads what tools remember for the length of a session. Keys start with the name of the tool or toolset.
type StateView interface {
	// Load decodes the value of key into v and reports whether there was one.
	Load(ctx context.Context, key string, v any) (bool, error)
}

// State is StateView that can also be written.
type State interface {
	StateView
	// Save keeps v, encoded as JSON, under key.
	Save(ctx context.Context, key string, v any) error
}

// Stream takes output of any size.
type Stream interface {
	io.Writer
	// Excerpt returns what the model should see of it: all, or its head and tail and where the rest is.
	Excerpt() string
	// Size returns how many bytes were written.
	Size() int64
}

// Commands runs programs in the sandbox, with what was decided for the call. A program that was stopped from reaching a
// path or a host, and failed, makes a *Need of it.
type Commands interface {
	// Run runs the program to its end. When ctx ends, so does the program, with everything it started. Programs that run on
	// a copy follow one another: two that read from each other would wait for ever.
	Run(ctx context.Context, cmd *Command) (*Exit, error)
	// Start starts a program that goes on after the call returned. Whoever started it ends it.
	Start(ctx context.Context, cmd *Command) (Process, error)
	// Adopt hands over a process that Start of this or of an earlier call started and that has ended: protected names that it
	// made are decided with this call, once the tool returned.
	Adopt(p Process)
}

// Command is a program to run.
type Command struct {
	Argv []string
	Dir  Path
	// Env is added to the environment that the sandbox allows, as KEY=value.
	Env []string
	// Stdin nil is empty. Stdout and Stderr nil are dropped; equal ones are interleaved.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Timeout zero is the sandbox's own limit.
	Timeout time.Duration
	// TTY gives the program a terminal; Stdout gets all of its output.
	TTY bool
	// ReadOnly keeps the program from writing to any root.
	ReadOnly bool
	// Scratch runs the program in a directory of its own, made for it and kept beside the output of the call, instead
	// of Dir. What it leaves there is in Exit.Files.
	Scratch bool
	// Full refuses to run unless the sandbox enforces everything it can.
	Full bool
	// OnCopy runs the program on a copy of the roots that it may write: what it changes there holds only once it was
	// decided, like the change of a file by any other tool. A call that was let run before it was decided runs so in
	// any case.
	OnCopy bool
	// Build says that the program is a build of Tongs' own: a program of those that it keeps, read only, which compiles what
	// it is given and runs nothing of it. It has a build cache that no other program sees.
	Build bool
	// Server names the tool server that the program is: it has a build cache of its own.
	Server string
	// Ports has programs of one session that set it reach one another at localhost: a port that one listens on in the
	// background is there for those that are started later.
	Ports bool
	// Effects are what the tool knows, at this moment, that the program would do. One that nobody decided, or that was
	// decided in another state, is a *Need and nothing runs: what was planned may have changed while a person was asked.
	Effects []Effect
}

// Process is a program that goes on. It is safe for concurrent use.
type Process interface {
	// Write writes to its standard input; CloseInput ends that.
	Write(p []byte) (int, error)
	CloseInput() error
	// Wait returns how it ended, or ctx's error.
	Wait(ctx context.Context) (*Exit, error)
	// Kill ends it and everything it started, and returns when they are gone.
	Kill()
}

// HTTP makes requests. A redirect to a host that nobody decided is decided on the way.
type HTTP interface {
	Do(req *http.Request) (*http.Response, error)
}

// Dialer may be implemented by a call's HTTP, for a tool that talks to a server in another way than by HTTP.
type Dialer interface {
	// Dial connects to host:port, which must be decided as any host is; what sends must be decided as such. The caller closes
	// the connection; it is of no use once the call has ended.
	Dial(ctx context.Context, address string, sends bool) (net.Conn, error)
}

// Change is something that the programs of a call did to a path: on a copy, or directly where a protected name was made.
type Change struct {
	Path Path       `json:"path"`
	Kind ChangeKind `json:"kind"`
	// Type is what is there now, or was there. Was is what a modified path was: where it differs, or is a link, what was
	// there went.
	Type FileType `json:"type"`
	Was  FileType `json:"was,omitempty"`
	// Before and After are sizes in bytes.
	Before int64 `json:"before,omitempty"`
	After  int64 `json:"after,omitempty"`
	// From is where a renamed file was. It is gone from there.
	From *Path `json:"from,omitempty"`
	// Version identifies the new content.
	Version Version `json:"version,omitempty"`
	// Below is how many more changes are below an added directory; After is then the size of all of them. The engine sets it
	// where it asks about changes.
	Below int `json:"below,omitempty"`
	// Protected says what is special about the path, so that it is asked about each time: "protected: git runs hooks from
	// it". The engine sets it; whoever ran the program does where the path alone does not tell.
	Protected string `json:"protected,omitempty"`
	// Repository says that Path is a git directory, in which git recorded what Does says, the gravest first, and nothing that it
	// runs or obeys changed. Parts are the changes of its files, which nobody needs to look at.
	Repository bool     `json:"repository,omitempty"`
	Does       []string `json:"does,omitempty"`
	Parts      []Change `json:"-"`
	// Loses says that git records less than before: a branch or a stash is gone, commits are on no branch any more.
	Loses bool `json:"loses,omitempty"`
	// Undoable says that nothing but that it can be undone allowed it: whoever makes the change makes it only if it can be. The
	// engine sets it.
	Undoable bool `json:"-"`
	// Held is set for a protected name that a program made directly: it was taken away, and waits there for a decision.
	Held *Held `json:"-"`
}

// ChangeKind is what became of a path.
type ChangeKind string

// The kinds of change.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
	Renamed  ChangeKind = "renamed"
)

// RepositoryTool is what rules and grants about git's own records are about. There is no tool of that name: programs change
// them, and undo does.
func RepositoryTool() Spec { return Spec{Name: "git", Toolset: "filesystem"} }

// FileTool is the built-in tool for files that would have made such a change, without its schemas: the rules about it decide
// changes of programs too, whether or not the tool is offered.
func (k ChangeKind) FileTool() Spec {
	name := map[ChangeKind]string{Modified: "edit", Deleted: "delete_file"}[k]
	if name == "" {
		name = "write_file"
	}
	return Spec{Name: name, Toolset: "filesystem"}
}
