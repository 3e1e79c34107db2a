// Package shell holds the tools shell and shell_jobs: commands of bash (or sh), run in the sandbox.
//
// # What is decided
//
// A command is parsed before it runs: every simple command in it, in any nesting, is an effect of its own, and so is
// every file that it would redirect to (package shellsyntax). The same is done again at the moment it starts; where the
// answer is another one, because a script, a link or the session's directory changed while a person was asked, the new
// effects are decided first. A command that is known to only read runs with every root read-only.
//
// # What sticks
//
// Each command starts in the working directory of its call (or workdir) with a fresh environment. With persist it starts
// where the last such command of the session ended, with the variables that it exported, and leaves behind the same for
// the next one. What is kept are small values of the session's state: the directory, if it is inside the roots, and at
// most 32 KiB of exported variables, which belong to the effects of each later command. Variables that change what runs
// (PATH, LD_PRELOAD, GIT_DIR, ...) are not kept, nor is anything of a command that was killed, replaced its shell by exec,
// or set a trap on EXIT of its own. The result says what was not kept.
//
// # Jobs
//
// With background a command goes on as a job of its session after the call returned. shell_jobs lists, reads, writes
// to, waits for and kills the jobs of the session that calls it; those of other sessions do not exist for it. Jobs
// end with [Set.Close] of their session, with [Set.CloseAll], and, by the sandbox, with the program.
package shell

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// Toolset is the name that configuration knows the tools by.
const Toolset = "shell"

// Options are those of the tools. A zero field means the default that its comment names.
type Options struct {
	// Shell is the program that runs commands: /bin/bash or where else bash usually is, and sh where there is none.
	Shell string
	// LookPath finds the program that a bare name runs in the sandbox: exec.LookPath of this process.
	LookPath func(name string) (string, bool)
	// Home is the home directory that commands have in the sandbox; empty means that it is not known.
	Home string
	// Inherits reports whether commands start with a variable in their environment, by its name: assigning to it changes what
	// their programs are given. Nil is an environment that is not known, in which every variable may be.
	Inherits func(name string) bool
	// Scratch are directories that the full sandbox makes private to each command: none. Shown returns those, and files, that it
	// shows to every program; nil is none. Where the sandbox is not full, neither counts.
	Scratch []string
	Shown   func() []string
	// Relayed says that git in commands reaches remotes only through a relay that has each transfer decided when it is made.
	Relayed bool
	// FreeReads makes commands free that are known to only read, and only inside the roots, where no rule says otherwise
	// and the sandbox is full: another one may not hide the secrets that a program comes across.
	FreeReads bool
	// Full reports whether the sandbox enforces everything it can. Nil is a sandbox that does not.
	Full func(ctx context.Context) bool
	// Timeout is how long a command may take that names no timeout: 120 s. MaxTimeout is the most that it can name: 600 s.
	Timeout, MaxTimeout time.Duration
	// Background allows jobs. Set it only in a program that lives on after a call, and that calls Close and CloseAll.
	Background bool
	// Jobs is how many jobs a session may have running at a time: 8. MaxJobs is how many all sessions may: 64.
	Jobs, MaxJobs int
	// JobBytes is how much of a job's latest output is kept in memory: 256 KiB.
	JobBytes int
	// JobOutput returns what keeps the whole output of a job, such as output.Bounds.Stream. It is closed with the job
	// where it can be, and its Path, where it has one, is told. Nil keeps what JobBytes allows.
	JobOutput func(session, job string) tongs.Stream
	// Settle is how long a new job is waited for before the call returns with what it wrote until then: 500 ms.
	Settle time.Duration
	// HashBytes is the size up to which a program of the workspace is bound by its content: 64 MiB. A larger one is asked
	// for each time.
	HashBytes int64
}

func (o Options) withDefaults() Options {
	if o.Shell == "" {
		o.Shell = findShell()
	}
	if o.LookPath == nil {
		o.LookPath = func(name string) (string, bool) {
			found, err := exec.LookPath(name)
			return found, err == nil
		}
	}
	if o.Full == nil {
		o.Full = func(context.Context) bool { return false }
	}
	set(&o.Timeout, 120*time.Second)
	set(&o.MaxTimeout, max(600*time.Second, o.Timeout))
	o.Timeout = min(o.Timeout, o.MaxTimeout)
	set(&o.Jobs, 8)
	set(&o.MaxJobs, 64)
	set(&o.JobBytes, 256<<10)
	set(&o.Settle, 500*time.Millisecond)
	set(&o.HashBytes, 64<<20)
	return o
}

func set[N int | int64 | time.Duration](v *N, def N) {
	if *v <= 0 {
		*v = def
	}
}

// findShell returns the bash of the system, which a sandbox shows, or sh. One that is elsewhere in the PATH may be
// hidden from the program.
func findShell() string {
	for _, name := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"} {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return "/bin/sh"
}

// Set is the two tools and the jobs that they started. It is safe for concurrent use.
type Set struct {
	opt  Options
	jobs *jobs
	list []tongs.Tool
}

// New makes the tools. Where jobs are allowed, whoever made the set ends it with CloseAll.
func New(opt Options) (*Set, error) {
	s := &Set{opt: opt.withDefaults()}
	s.jobs = newJobs(s.opt)
	for _, makeTool := range []func() (tongs.Tool, error){s.shellTool, s.jobsTool} {
		tool, err := makeTool()
		if err != nil {
			return nil, err
		}
		s.list = append(s.list, tool)
	}
	return s, nil
}

// Tools returns shell and shell_jobs.
func (s *Set) Tools() []tongs.Tool { return slices.Clone(s.list) }

// Close ends the jobs of a session and forgets them. It returns when they are gone.
func (s *Set) Close(session string) { s.jobs.close(session) }

// CloseAll ends the jobs of all sessions; no more are started. It returns when they are gone.
func (s *Set) CloseAll() { s.jobs.closeAll() }

// Rules are the defaults that belong to the tools: reading inside the roots is free, and so are builtins that only steer
// the shell, and looking after one's own jobs. Any explicit rule beats them.
func Rules() []tongs.Rule {
	rules := shellsyntax.Defaults(Toolset)
	for _, action := range []string{"list", "read", "wait", "kill"} {
		rules = append(rules, tongs.Rule{
			Layer: tongs.LayerUser, Origin: "built in", Toolset: Toolset, Tool: jobsName, Effects: tongs.Kinds(tongs.EffectExecute),
			Pattern: jobsName + " " + action, Decision: tongs.PreApproved, Fallback: true,
		})
	}
	return rules
}
