package gitrelay

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitssh"
	"github.com/tongs-ai/tongs/network"
)

// sshRequest is what git would have ssh do.
type sshRequest struct {
	remote  Remote
	service string
	// given is the host as git has it, which may be a name of the user's own settings; port is empty where git names none.
	given, port string
	version     string
}

// parseSSH reads what git gives ssh. Options by which ssh does anything else are refused, and so is any other command.
func parseSSH(r *http.Request) (*sshRequest, error) {
	raw, err := hex.DecodeString(r.Header.Get(gitssh.Args))
	args := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	if err != nil || len(raw) == 0 {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "what git gives ssh cannot be read")
	}
	q := &sshRequest{}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-4" || args[0] == "-6":
			args = args[1:]
		case args[0] == "-p" && len(args) > 1:
			q.port, args = args[1], args[2:]
		case args[0] == "-o" && len(args) > 1 && args[1] == "SendEnv=GIT_PROTOCOL":
			args = args[2:]
		default:
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "git gives ssh the option %q, which is not passed on", plain(args[0]))
		}
	}
	if len(args) != 2 {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "only git can use ssh here, to fetch and push")
	}
	q.remote.Scheme, q.given = "ssh", args[0]
	if at := strings.LastIndexByte(args[0], '@'); at >= 0 {
		q.remote.User, q.given = args[0][:at], args[0][at+1:]
	}
	if q.port != "" {
		if n, err := strconv.ParseUint(q.port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != q.port {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "port %q is not a number from 1 to 65535", plain(q.port))
		}
	}
	if !sshWord(q.given) || q.remote.User != "" && !sshWord(q.remote.User) {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "host %q is not one that ssh can be given safely", plain(args[0]))
	}
	if v := r.Header.Get(gitssh.Version); v == "version=1" || v == "version=2" {
		q.version = v
	}
	return q, q.parseCommand(args[1])
}

// sshWord reports whether ssh takes the text for a name and nothing else.
func sshWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '.' && c != '-' && c != '_' && c != ':' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return s != "" && s[0] != '-' && len(s) < 256
}

// parseCommand reads the command on the other machine: a service, and a path in quotes.
func (q *sshRequest) parseCommand(command string) error {
	service, quoted, _ := strings.Cut(command, " ")
	if service != uploadPack && service != receivePack {
		return tongs.Errorf(tongs.CodeInvalidArgs, "git wants to run %q on the other machine; only %s and %s are passed on", plain(service), uploadPack, receivePack)
	}
	path := strings.ReplaceAll(strings.Trim(quoted, "'"), `'\''`, "'")
	path = strings.ReplaceAll(path, `'\!'`, "!")
	if quote(path) != quoted || path == "" || len(path) > maxPath || strings.ContainsFunc(path, control) || strings.HasPrefix(path, "-") {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the path of the remote %q cannot be used", plain(quoted))
	}
	q.service, q.remote.Path = service, path
	return nil
}

// quote quotes a path as git does for the shell of the other machine.
func quote(path string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
}

// sshCommand is the user's own ssh, with its arguments.
type sshCommand struct {
	argv []string
	// jumps says that the user reaches the host through another one, which connects.
	jumps bool
	// checked are options that bind ssh to the address that was checked.
	checked []string
}

// ssh finds the user's ssh, and where it would connect to. Until something was decided nothing runs but ssh itself: settings that
// depend on a command, and a program of the user's in the place of ssh, wait until the host that git names was decided.
func (s *Session) ssh(ctx context.Context, q *sshRequest) (*sshCommand, error) {
	c := &sshCommand{argv: []string{"ssh"}}
	text := s.variable("GIT_SSH_COMMAND")
	if text == "" {
		configured, _ := s.userGit(ctx, "", "config", "--get", "core.sshCommand") // it fails where there is none
		text = strings.TrimSpace(configured)
	}
	if text != "" {
		c.argv = []string{"sh", "-c", text + ` "$@"`, text}
	}
	settings, err := "", errRuns
	if text == "" || onlySSH.MatchString(text) {
		settings, err = s.sshSettings(ctx, c, q, false)
	}
	if errors.Is(err, errRuns) {
		if err := s.contactGiven(ctx, q); err != nil {
			return nil, err
		}
		settings, err = s.sshSettings(ctx, c, q, true)
	}
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "your ssh does not tell where it would connect to for %s: %w", plain(q.given), err)
	}
	return c, c.resolve(q, settings)
}

// onlySSH matches a command of the user's that is ssh with plain options.
var onlySSH = regexp.MustCompile(`^([\w./~-]*/)?ssh( [\w./~=,:@%+-]+)*$`)

// errRuns says that the settings cannot be told unless a command of the user's is run.
var errRuns = errors.New("a command of your settings would run")

// sshSettings are those of the user's ssh for a host. Ssh gives the commands of "Match exec" to SHELL, and ends where that is not a
// program. Looking up names would tell others about a host that nobody decided, so that names are not made canonical.
func (s *Session) sshSettings(ctx context.Context, c *sshCommand, q *sshRequest, run bool) (string, error) {
	args := []string{"-G", "-o", notCanonical}
	if q.port != "" {
		args = append(args, "-p", q.port)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	dir, remove, err := s.scratch()
	if err != nil {
		return "", err
	}
	defer remove()
	cmd := s.program(ctx, dir, slices.Concat(c.argv, args, []string{q.destination()}))
	if !run {
		cmd.Env = append(cmd.Env, "SHELL="+os.DevNull)
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !run && strings.Contains(string(exit.Stderr), `"`+os.DevNull+`" is not executable`) {
		err = errRuns
	}
	return string(out), err
}

const notCanonical = "CanonicalizeHostname=no"

// contactGiven has the host decided as git names it.
func (s *Session) contactGiven(ctx context.Context, q *sshRequest) (err error) {
	r := q.remote
	r.written = q.written()
	if r.Target, err = network.ParseTarget(net.JoinHostPort(q.given, cmp.Or(q.port, "22")), 22); err != nil {
		return err
	}
	if err := s.reachable(r); err != nil {
		return err
	}
	return s.contact(ctx, r, q.service)
}

// written is the host as git has it, with user and port.
func (q *sshRequest) written() string {
	return strings.ToLower(q.destination() + ":" + cmp.Or(q.port, "22"))
}

func (q *sshRequest) destination() string {
	if q.remote.User != "" {
		return q.remote.User + "@" + q.given
	}
	return q.given
}

// resolve reads what ssh -G tells.
func (c *sshCommand) resolve(q *sshRequest, settings string) (err error) {
	values := map[string]string{}
	for line := range strings.Lines(settings) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		values[strings.ToLower(name)] = value
	}
	q.remote.written = q.written()
	if q.remote.Target, err = network.ParseTarget(net.JoinHostPort(values["hostname"], values["port"]), 22); err != nil {
		return err
	}
	q.remote.User = values["user"]
	name := q.remote.Target.Host
	if q.remote.Target.Port != 22 {
		name = "[" + name + "]:" + values["port"]
	}
	if alias := values["hostkeyalias"]; alias != "" && alias != "none" {
		name = alias
	}
	for _, jump := range []string{"proxyjump", "proxycommand"} {
		c.jumps = c.jumps || values[jump] != "" && values[jump] != "none"
	}
	c.checked = []string{"-o", "HostKeyAlias=" + name}
	return nil
}

// variable is one of the user's environment.
func (r *Relay) variable(name string) string {
	for _, e := range r.opt.Environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// program is one of the user's, outside of every repository.
func (s *Session) program(ctx context.Context, dir string, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, s.userEnv(dir), 2*time.Second
	return cmd
}

// connect starts ssh with the service of a remote. The address is checked first, and ssh connects to that one.
func (s *Session) connect(ctx context.Context, c *sshCommand, q *sshRequest, dir string) (*exec.Cmd, error) {
	t := q.remote.Target
	argv := append(append([]string{}, c.argv...), "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "PermitLocalCommand=no", "-o", notCanonical)
	if !c.jumps {
		conn, err := s.call.Guard.Connect(ctx, t, s.connection(ctx, q.remote))
		if err != nil {
			return nil, err
		}
		address, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		_ = conn.Close()
		argv = append(append(argv, c.checked...), "-o", "HostName="+address)
	} else {
		s.call.Permit.Connected(t.String() + " through another host, as your ssh settings say")
	}
	argv = append(argv, "-p", strconv.Itoa(int(t.Port)))
	env := []string(nil)
	if q.version != "" && q.service == uploadPack {
		argv, env = append(argv, "-o", "SendEnv=GIT_PROTOCOL"), []string{"GIT_PROTOCOL=" + q.version}
	}
	argv = append(argv, q.remote.User+"@"+q.given, q.service+" "+quote(q.remote.Path))
	cmd := s.program(ctx, dir, argv)
	cmd.Env = append(cmd.Env, env...)
	return cmd, nil
}
