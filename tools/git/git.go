// Package git holds the tools git_status, git_diff, git_log, git_show, git_commit, git_branch and git_push: what git says and does, with
// values in place of text. Each runs the real git in the sandbox, without a shell, and is planned, decided, settled and undone as the
// same command of the tool shell would be. No argument can become an option of git.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// Toolset is the name that configuration knows the tools by.
const Toolset = "git"

// Options are what the tools know of the sandbox that runs git.
type Options struct {
	// Full reports whether the sandbox is full. Nil is one that is not: reads are asked about then.
	Full func(context.Context) bool
	// Relayed says that git reaches remotes only through a relay that has each transfer decided when it is made.
	Relayed bool
	// Scratch and Shown are as in the tool shell: private directories, and what every program is shown.
	Scratch []string
	Shown   func() []string
	// Timeout is how long one run of git may take; zero is two minutes.
	Timeout time.Duration
}

// Tools returns the tools.
func Tools(opt Options) ([]tongs.Tool, error) {
	if opt.Full == nil {
		opt.Full = func(context.Context) bool { return false }
	}
	if opt.Timeout <= 0 {
		opt.Timeout = 2 * time.Minute
	}
	s := &set{opt}
	var list []tongs.Tool
	var errs []error
	for _, made := range []func() (tongs.Tool, error){s.statusTool, s.diffTool, s.logTool, s.showTool, s.commitTool, s.branchTool, s.pushTool} {
		tool, err := made()
		list, errs = append(list, tool), append(errs, err)
	}
	return list, errors.Join(errs...)
}

// Rules are the defaults that belong to the tools: reading inside the roots is free. Any explicit rule beats them.
func Rules() []tongs.Rule { return shellsyntax.Defaults(Toolset) }

type set struct{ opt Options }

// call is what a tool does: one or more runs of git.
type call struct {
	runs []run
	// message tells a person what the call is for.
	message string
	kind    tongs.Kind
}

// run is one run of git, without the name of the program.
type run []string

// define makes a tool of what it runs and of how it reads what git says.
func define[In, Out any](s *set, spec tongs.Spec, runs func(In) (call, error), read func(context.Context, *session, In) (Out, error)) (tongs.Tool, error) {
	spec.Toolset, spec.Extra, spec.Needs = Toolset, true, tongs.Execute
	spec.Optional = tongs.Read | tongs.Write | tongs.Network
	return tongs.New(tongs.Def[In, Out]{
		Spec: spec,
		Plan: func(ctx context.Context, v *tongs.View, in In) (*tongs.Plan, error) {
			c, err := runs(in)
			if err != nil {
				return nil, err
			}
			return s.plan(ctx, v, c)
		},
		Run: func(ctx context.Context, env *tongs.Env, in In) (out Out, err error) {
			c, err := runs(in)
			if err != nil {
				return out, err
			}
			a, err := s.analyse(ctx, env.Files, env.Dir, c)
			if err != nil {
				return out, err
			}
			return read(ctx, &session{set: s, env: env, call: c, analysis: a}, in)
		},
	})
}

// analyse finds what the runs would do as the tool shell does: from the words, quoted so that they are words and nothing else.
func (s *set) analyse(ctx context.Context, files tongs.FileView, dir tongs.Path, c call) (*shellsyntax.Analysis, error) {
	var lines []string
	for _, r := range c.runs {
		words := []string{"git"}
		for _, word := range r {
			words = append(words, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
		}
		lines = append(lines, strings.Join(words, " "))
	}
	w := shellsyntax.ViewWorld(files)
	w.LookPath = func(name string) (string, bool) {
		found, err := exec.LookPath(name)
		return found, err == nil
	}
	if w.Confined = s.opt.Full(ctx); w.Confined {
		w.Scratch, w.Relayed = s.opt.Scratch, s.opt.Relayed
		if s.opt.Shown != nil {
			w.Shown = s.opt.Shown()
		}
	}
	w.Repository = func(string) shellsyntax.Repository { return shellsyntax.ViewRepository(files, dir) }
	return shellsyntax.Analyse(strings.Join(lines, "\n"), w, shellsyntax.Options{})
}

func (s *set) plan(ctx context.Context, v *tongs.View, c call) (*tongs.Plan, error) {
	a, err := s.analyse(ctx, v.Files, v.Dir, c)
	if err != nil {
		return nil, err
	}
	plan := &tongs.Plan{
		Effects: a.Effects, Message: c.message, Kind: c.kind, Contained: true, Records: a.Records, Tells: a.Tells,
		Preview: func(context.Context) (string, error) {
			var b strings.Builder
			for _, r := range c.runs {
				b.WriteString("git")
				for _, word := range r {
					b.WriteString(" " + shownWord(word))
				}
				b.WriteString("\n")
			}
			for _, told := range a.Tells {
				b.WriteString("git would " + programoutput.Plain(told) + "\n")
			}
			return b.String(), nil
		},
	}
	if a.ReadOnly && s.opt.Full(ctx) {
		free := tongs.PreApproved
		plan.Default = &free
	}
	return plan, nil
}

// shownWord is a word as one would type it.
func shownWord(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\n\"'\\$`*?[]{}()<>|&;#~!") {
		word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return programoutput.Plain(word)
}

// session is a call that runs.
type session struct {
	*set
	env      *tongs.Env
	call     call
	analysis *shellsyntax.Analysis
}

// maxRead is how much of what git says is read as data.
const maxRead = 8 << 20

// limited keeps the beginning of what is written.
type limited struct {
	bytes.Buffer
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := len(p)
	if room := maxRead - l.Len(); n > room {
		p, l.cut = p[:room], true
	}
	l.Buffer.Write(p)
	return n, nil
}

// git runs the call's run at an index, and returns what it wrote.
func (s *session) git(ctx context.Context, at int) (out *limited, err error) {
	out = &limited{}
	var said limited
	exit, err := s.start(ctx, at, out, &said)
	if err == nil && exit.Code != 0 {
		err = failure(exit, said.String()+out.String())
	}
	return out, err
}

// start runs the call's run at an index to its end. Hooks and other programs that git starts run in the sandbox with it.
func (s *session) start(ctx context.Context, at int, stdout, stderr io.Writer) (*tongs.Exit, error) {
	exit, err := s.env.Commands.Run(ctx, &tongs.Command{
		Argv: append([]string{"git"}, s.call.runs[at]...), Dir: s.env.Dir, Timeout: s.opt.Timeout,
		Env:    []string{"LC_ALL=C", "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"},
		Stdout: stdout, Stderr: stderr, ReadOnly: s.analysis.ReadOnly, Full: s.analysis.ReadOnly && s.opt.Full(ctx), Effects: s.analysis.Effects,
	})
	switch {
	case err != nil:
		return nil, err
	case exit.TimedOut:
		return nil, tongs.Errorf(tongs.CodeTimeout, "git was killed after %s", s.opt.Timeout)
	case ctx.Err() != nil:
		return nil, tongs.Errorf(tongs.CodeCancelled, "the call was cancelled, and git was killed")
	}
	return exit, nil
}

// failure is what git says when it fails.
func failure(exit *tongs.Exit, said string) error {
	said = strings.TrimSpace(said)
	switch {
	case strings.Contains(said, "not a git repository"):
		return tongs.Errorf(tongs.CodeFileNotFound, "there is no git repository here; make one with git init, or work in the directory of one")
	case said == "":
		return tongs.Errorf(tongs.CodeExecutionError, "git failed with exit code %d", exit.Code)
	}
	const most = 4000
	if len(said) > most {
		said = "..." + said[len(said)-most:]
	}
	return tongs.Errorf(tongs.CodeExecutionError, "git failed with exit code %d: %s", exit.Code, programoutput.Shown(said))
}

// revision checks the name of a commit. It may be anything that git takes for one, except an option, a range or what has blanks.
func revision(field, name string) error {
	bad := func(why string) error {
		return tongs.Errorf(tongs.CodeInvalidArgs, "%s %q %s; name one commit, branch or tag, such as HEAD~1 or main", field, name, why)
	}
	switch {
	case strings.HasPrefix(name, "-"):
		return bad("begins with a dash")
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return bad("has a blank or a control character")
	case strings.Contains(name, ".."):
		return bad("is a range")
	case strings.Contains(name, ":"):
		return bad("names a file")
	case strings.HasPrefix(name, "^"):
		return bad("leaves something out")
	}
	return nil
}

// branchName checks the name of a branch by the rules of git check-ref-format.
func branchName(field, name string) error {
	bad := name == "" || name == "@" || name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, " ~^:?*[\\") ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.HasSuffix(name, ".")
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		return tongs.Errorf(tongs.CodeInvalidArgs, "%s %q is not a name that git takes for a branch", field, name)
	}
	return nil
}

// paths checks the names of files. They follow "--" and are taken as they are, so that none is an option or a pattern.
func paths(list []string) error {
	for _, p := range list {
		if p == "" || strings.ContainsRune(p, 0) {
			return tongs.Errorf(tongs.CodeInvalidArgs, "path %q is not the name of a file", p)
		}
	}
	return nil
}

// shownPath is a path on one line.
func shownPath(p string) string {
	if plain := programoutput.Plain(p); plain != p {
		return fmt.Sprintf("%q", p)
	}
	return p
}
