package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// sessionKey is where the state of a session keeps what sticks.
const sessionKey = "shell.session"

// maxVars is how many bytes of variables a session keeps, maxDump how much of what the shell tells is looked at.
const (
	maxVars = 32 << 10
	maxDump = 1 << 20
)

// session is what sticks from one command to the next.
type session struct {
	Dir  *tongs.Path       `json:"dir,omitempty"`
	Vars map[string]string `json:"vars,omitempty"`
}

func loadSession(ctx context.Context, state tongs.StateView) (session, error) {
	var kept session
	if _, err := state.Load(ctx, sessionKey, &kept); err != nil {
		return kept, fmt.Errorf("what the session keeps of its shell: %w", err)
	}
	return kept, nil
}

func environ(vars map[string]string) (env []string) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// keeper takes what the shell tells about itself at its beginning and its end out of its output. The mark around it is
// made anew for each command; one that finds it out can forge what it could just as well set.
type keeper struct {
	w     io.Writer
	nonce string
	mark  []byte
	fd    int

	mu sync.Mutex
	// held is the end of the output that may be the beginning of a mark.
	held   []byte
	inside bool
	dumps  [][]byte
}

func newKeeper(w io.Writer, posix bool) *keeper {
	k := &keeper{w: w, nonce: rand.Text(), fd: 198}
	if posix {
		k.fd = 7 // of more than one digit only bash knows
	}
	k.mark = []byte("\x00" + k.nonce + "\x00")
	return k
}

// wrap returns the command with what makes the shell tell its variables and, when it ends, its directory.
func (k *keeper) wrap(text string) string {
	tell := fmt.Sprintf(`printf "\000%s\000"; pwd; env -0; printf "\000%s\000"`, k.nonce, k.nonce)
	return fmt.Sprintf("exec %d>&1; { %s; } >&%d; trap '{ %s; } >&%d 2>/dev/null' EXIT\n%s", k.fd, tell, k.fd, tell, k.fd, text)
}

// Write passes on what is outside of marks.
func (k *keeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	data := append(k.held, p...)
	k.held = nil
	for {
		at := bytes.Index(data, k.mark)
		if at < 0 {
			break
		}
		if err := k.pass(data[:at]); err != nil {
			return 0, err
		}
		data = data[at+len(k.mark):]
		if k.inside = !k.inside; k.inside && len(k.dumps) < 3 {
			k.dumps = append(k.dumps, nil)
		}
	}
	hold := partial(data, k.mark)
	if err := k.pass(data[:len(data)-hold]); err != nil {
		return 0, err
	}
	k.held = bytes.Clone(data[len(data)-hold:])
	return len(p), nil
}

func (k *keeper) pass(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if !k.inside {
		_, err := k.w.Write(p)
		return err
	}
	last := &k.dumps[len(k.dumps)-1]
	*last = append(*last, p[:min(len(p), maxDump-len(*last))]...)
	return nil
}

// partial returns how many bytes at the end of data are the beginning of mark.
func partial(data, mark []byte) int {
	for n := min(len(mark)-1, len(data)); n > 0; n-- {
		if bytes.HasSuffix(data, mark[:n]) {
			return n
		}
	}
	return 0
}

// finish passes on what was held and returns what the shell told: at its beginning and at its end. It is false where
// the shell did not come to its end.
func (k *keeper) finish() (began, ended dump, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	held, inside := k.held, k.inside
	k.held = nil
	if !inside {
		_ = k.pass(held)
	}
	if inside || len(k.dumps) != 2 {
		return began, ended, false
	}
	return readDump(k.dumps[0]), readDump(k.dumps[1]), true
}

// dump is what a shell told about itself.
type dump struct {
	dir  string
	vars map[string]string
}

func readDump(p []byte) dump {
	dir, rest, _ := bytes.Cut(p, []byte{'\n'})
	d := dump{dir: string(dir), vars: map[string]string{}}
	for entry := range bytes.SplitSeq(rest, []byte{0}) {
		if name, value, ok := strings.Cut(string(entry), "="); ok {
			d.vars[name] = value
		}
	}
	return d
}

// keep saves what sticks after a command, and says what does not.
func (s *Set) keep(ctx context.Context, env *tongs.Env, at place, k *keeper, out *Output) error {
	began, ended, ok := k.finish()
	out.Stdout = env.Output("stdout").Excerpt()
	out.Workdir = at.dir.String()
	if !ok {
		out.remarks = append(out.remarks, "the directory and the variables of the session are as before: the shell did not come to its end")
		return nil
	}
	next := session{Dir: &at.dir}
	if ended.dir != began.dir {
		if p, ok := at.inside(ended.dir); ok {
			next.Dir, out.Workdir = &p, p.String()
		} else {
			out.remarks = append(out.remarks, "the session stays in "+at.dir.String()+": "+ended.dir+" is not a directory of the workspace")
		}
	}
	var left []string
	next.Vars, left = keptVars(at.vars, began.vars, ended.vars)
	if len(left) > 0 {
		out.remarks = append(out.remarks, "not kept, because they change what runs or are too long: "+strings.Join(left, ", "))
	}
	if err := env.State.Save(context.WithoutCancel(ctx), sessionKey, next); err != nil {
		return fmt.Errorf("what the session keeps of its shell: %w", err)
	}
	return nil
}

// inside returns the directory of the roots that a host path is. A running call may not look at it, but the next one
// will: what is no directory then is not used.
func (at place) inside(host string) (tongs.Path, bool) {
	p, err := at.files.Resolve(host)
	return p, err == nil && (p.Root == tongs.WorkspaceRoot || !at.zoneSpelling(host, p.Root))
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// always are variables that every shell changes.
var always = []string{"_", "PWD", "OLDPWD", "SHLVL"}

// keptVars returns the variables that stick, and the names of those that were set and do not.
func keptVars(kept, began, ended map[string]string) (vars map[string]string, left []string) {
	vars = map[string]string{}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(ended)) {
		value := ended[name]
		first, had := began[name]
		_, before := kept[name]
		if slices.Contains(always, name) || had && value == first && !before {
			continue
		}
		size += len(name) + len(value)
		if steers(name) || !utf8.ValidString(value) || size > maxVars {
			size -= len(name) + len(value)
			left = append(left, name)
			continue
		}
		vars[name] = value
	}
	return vars, left
}

// steers reports whether a variable changes what runs: where assigning it in a command would have to be asked for.
func steers(name string) bool {
	if !variable.MatchString(name) {
		return true // an exported function, or worse
	}
	a, err := shellsyntax.Analyse("export "+name+"=x", shellsyntax.World{}, shellsyntax.Options{})
	if err != nil || len(a.Effects) != 1 {
		return true
	}
	return a.Effects[0].Unknown || a.Effects[0].MustAsk
}
