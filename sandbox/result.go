package sandbox

import "time"

// The tiers.
const (
	TierA        = "A"
	TierB        = "B"
	TierSeatbelt = "seatbelt"
)

// Result is how a program ended.
type Result struct {
	// ExitCode is that of the program, or 128 and the signal's number if one ended it.
	ExitCode int
	// Signal is the signal that ended it, such as "killed", or "".
	Signal   string
	TimedOut bool
	Duration time.Duration
	Usage    Usage
	Report   Report
	// Overlay holds what the program wrote, where Policy.Overlay was set. Whoever got the result closes it.
	Overlay *Layers
}

// Usage is what a program used up.
type Usage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// MaxRSS is the peak of its largest process, Memory that of all together where a control group counted it; in bytes.
	MaxRSS int64 `json:"maxRSS"`
	Memory int64 `json:"memory,omitempty"`
	// Output counts the bytes of stdout and stderr together.
	Output int64 `json:"output"`
}

// Report says what the sandbox enforced and what came up.
type Report struct {
	Tier string `json:"tier"`
	// Full says that every property was enforced. Tier B is never full.
	Full   bool     `json:"full"`
	Layers []string `json:"layers"`
	// Missing are the layers and limits that the machine does not have, each with what stands in for it.
	Missing []string `json:"missing,omitempty"`
	// LimitsHit names the limits that ended the program.
	LimitsHit []string `json:"limitsHit,omitempty"`
	// Denied is what the sandbox stopped, as far as the program told of it: best effort.
	Denied []Denial `json:"denied,omitempty"`
	// Planted are protected paths that were absent before the run, or other ones, and should be looked at by a person
	// before anything obeys them.
	Planted []string `json:"planted,omitempty"`
	// Overlays say where what the program wrote is, where it was held back.
	Overlays []Layer `json:"overlays,omitempty"`
	// Leftover counts processes that the program had left running when it ended; they were killed.
	Leftover int   `json:"leftover,omitempty"`
	Usage    Usage `json:"usage"`
}

// Denial is something that the program wanted and did not get: a path, or a host.
type Denial struct {
	// Kind is read, write or network.
	Kind string `json:"kind"`
	Path string `json:"path,omitempty"`
	Host string `json:"host,omitempty"`
}
