package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// program is one to run.
type program struct {
	argv, env []string
	// says is the command that it stands for, where argv also has what makes it report; input is what it reads.
	says  []string
	input string
	// readOnly keeps it from changing anything.
	readOnly bool
	// stdout and stderr take what it writes there; nil is the stream of the call.
	stdout, stderr io.Writer
}

// words are what rules and people know the program by.
func (p program) words() []string {
	if p.says != nil {
		return p.says
	}
	return p.argv
}

// session runs the programs of a call, one after another.
type session struct {
	opt     Options
	env     *tongs.Env
	dir     tongs.Path
	effects []tongs.Effect
	// onCopy has programs change a copy, whatever was decided.
	onCopy   bool
	timeout  time.Duration
	deadline time.Time
	exit     *tongs.Exit
	took     time.Duration
}

func (o Options) session(env *tongs.Env, p *place, effects []tongs.Effect, seconds int) *session {
	timeout := o.timeout(seconds)
	return &session{opt: o, env: env, dir: p.root, effects: effects, timeout: timeout, deadline: time.Now().Add(timeout)}
}

// run runs a program to its end. An exit code is no error; a program that could not run, was killed or took too long is.
func (s *session) run(ctx context.Context, p program) error {
	stdout, stderr := s.env.Output("stdout"), s.env.Output("stderr")
	cmd := &tongs.Command{
		Argv: p.argv, Env: p.env, Dir: s.dir, Stdout: p.stdout, Stderr: p.stderr, ReadOnly: p.readOnly, OnCopy: s.onCopy && !p.readOnly,
		Timeout: max(time.Until(s.deadline), time.Second), Effects: s.effects,
	}
	if p.input != "" {
		cmd.Stdin = strings.NewReader(p.input)
	}
	if cmd.Stdout == nil {
		cmd.Stdout = stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = stderr
	}
	exit, err := s.env.Commands.Run(ctx, cmd)
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		return need
	}
	if exit == nil {
		return s.unstarted(p.argv[0], err)
	}
	s.exit = exit
	s.took += exit.Duration
	switch {
	case exit.TimedOut:
		return tongs.Errorf(tongs.CodeTimeout, "%s was killed after %s; what it reported until then is kept%s",
			path.Base(p.argv[0]), s.timeout, s.longer())
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return tongs.Errorf(tongs.CodeTimeout, "the time of the call was over, and %s was killed; what it reported until then is kept", path.Base(p.argv[0]))
	case ctx.Err() != nil:
		return tongs.Errorf(tongs.CodeCancelled, "the call was cancelled, and %s was killed; what it reported until then is kept", path.Base(p.argv[0]))
	case exit.Report != nil && len(exit.Report.LimitsHit) > 0:
		return tongs.Errorf(tongs.CodeExecutionError, "%s was ended by the sandbox: the limit of %s was reached; what it reported until then is kept",
			path.Base(p.argv[0]), strings.Join(exit.Report.LimitsHit, ", "))
	}
	return err
}

func (s *session) longer() string {
	if s.timeout >= s.opt.MaxTimeout {
		return ""
	}
	return fmt.Sprintf("; give it a longer timeout (%g at most)", s.opt.MaxTimeout.Seconds())
}

// unstarted says more about a program that is there for the user and not for the sandbox.
func (s *session) unstarted(name string, err error) error {
	if found, ok := s.opt.LookPath(name); ok && tongs.CodeOf(err) == tongs.CodeFileNotFound {
		return tongs.Errorf(tongs.CodeConfigError,
			"%s is installed as %s, which programs in the sandbox do not see; install it in the project, or for the whole system", name, found)
	}
	return err
}

// output runs a program whose output is read by the tool and by nobody else, up to limit bytes.
func (s *session) output(ctx context.Context, p program, limit int) (string, error) {
	out := &capped{limit: limit}
	p.stdout = out
	if err := s.run(ctx, p); err != nil {
		return "", err
	}
	if out.over {
		return "", tongs.Errorf(tongs.CodeTooLarge, "%s wrote more than %d bytes", strings.Join(p.argv[:min(2, len(p.argv))], " "), limit)
	}
	return out.String(), nil
}

// capped keeps the beginning of what is written to it.
type capped struct {
	bytes.Buffer
	limit int
	over  bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := max(c.limit-c.Len(), 0)
	c.over = c.over || len(p) > room
	c.Buffer.Write(p[:min(len(p), room)])
	return len(p), nil
}

// remarks are what a model should know of how the last program ran.
func (s *session) remarks() []string {
	if s.exit == nil {
		return nil
	}
	notes, _ := programoutput.Read(s.exit)
	return notes
}

// tail is the end of a text.
func tail(text string, limit int) string {
	text = strings.TrimRight(text, "\n")
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if at := strings.IndexByte(text, '\n'); at >= 0 {
		text = text[at+1:]
	}
	return "...\n" + strings.ToValidUTF8(text, "")
}

// installed refuses a program that is not there, and says what to install.
func (o Options) installed(name, install string) error {
	if strings.Contains(name, "/") {
		return nil
	}
	if _, ok := o.LookPath(name); ok {
		return nil
	}
	return tongs.Errorf(tongs.CodeConfigError, "%s is not installed here; %s", name, install)
}
