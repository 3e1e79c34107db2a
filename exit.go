package tongs

import "time"

// Exit is how a program ended.
type Exit struct {
	Code     int
	Signal   string
	TimedOut bool
	Duration time.Duration
	// Files are what a program left in its scratch directory; images have their data.
	Files []Attachment
	// Report says what the sandbox enforced; nil where there was no sandbox.
	Report *Report
}

// Report is what a sandbox tells of a program. Results carry it in their metadata.
type Report struct {
	Tier string `json:"tier"`
	// Full says that the sandbox enforced everything it can.
	Full   bool     `json:"full"`
	Layers []string `json:"layers"`
	// Missing are the layers and limits that the machine does not have; LimitsHit are those that ended the program.
	Missing   []string `json:"missing,omitempty"`
	LimitsHit []string `json:"limitsHit,omitempty"`
	// Denied is what the sandbox stopped, as far as the program told of it; DeniedHosts is exact.
	Denied      []Denial `json:"denied,omitempty"`
	DeniedHosts []string `json:"deniedHosts,omitempty"`
	// Refused are connections that did not come about although their host was decided, or because a rule blocks it, and why:
	// one sentence each.
	Refused []string `json:"refused,omitempty"`
	// Outside says what to do about paths outside of the roots that the program was kept from.
	Outside []string     `json:"outside,omitempty"`
	Usage   ProgramUsage `json:"usage"`
}

// Denial is something that a program wanted and did not get.
type Denial struct {
	// Kind is read, write or network.
	Kind string `json:"kind"`
	Path string `json:"path,omitempty"`
	Host string `json:"host,omitempty"`
}

// ProgramUsage is what a program used up.
type ProgramUsage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// MaxRSS is the peak of its largest process, Memory that of all together where a control group counted it; in bytes.
	MaxRSS int64 `json:"maxRSS"`
	Memory int64 `json:"memory,omitempty"`
	// Output counts the bytes of stdout and stderr together.
	Output int64 `json:"output"`
}

// Settled says what became of the changes of the programs of a call. Results carry it in their metadata.
type Settled struct {
	// Held are protected names that programs made and that wait for a person, Approved those that a person approved, and
	// Planted those that could not be taken away, each with the reason.
	Held     []Held   `json:"held,omitempty"`
	Approved []Held   `json:"approvedNames,omitempty"`
	Planted  []string `json:"planted,omitempty"`
	// Changes is set where programs ran on a copy.
	Changes *Changed `json:"changes,omitempty"`
}

// Held is a file with a protected name that a program created, and what became of it. It is held back until a person
// decides.
type Held struct {
	// Path is where it was made.
	Path string `json:"path"`
	// At is where it is now, as read_file spells it, and Host the same on this machine. Both are empty once it is in its
	// place.
	At   string `json:"at,omitempty"`
	Host string `json:"host,omitempty"`
	// Why says why it is not in its place.
	Why string `json:"why,omitempty"`
	// Question is the one to answer, where it waits for an answer.
	Question string `json:"question,omitempty"`
}

// Changed is what became of the changes of programs that ran on a copy.
type Changed struct {
	// Made and Dropped say how many changes there were: "2 added, 1 modified".
	Made    string `json:"made,omitempty"`
	Dropped string `json:"dropped,omitempty"`
	// Waiting says how many wait for a person, who makes them by approving.
	Waiting string `json:"waiting,omitempty"`
	// Paths are some of the changes that were made, one a line of words.
	Paths []string `json:"paths,omitempty"`
	// Refused are some of the changes that cannot be kept, each with the reason.
	Refused []string `json:"refused,omitempty"`
	// Entry is the one of the journal, by which they can be undone.
	Entry string `json:"entry,omitempty"`
	// Preview shows what a dry run changed.
	Preview string `json:"preview,omitempty"`
}
