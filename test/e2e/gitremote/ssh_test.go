package gitremote

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// sshServer is a real one, which the person logs in to with a key that only their agent has.
type sshServer struct {
	dir, user, port string
	// settings are those of the person's ssh, and socket is that of their agent.
	settings, socket string
}

const sshHost = "127.0.0.2"

// newSSHServer starts sshd and ssh-agent.
func newSSHServer(t *testing.T) *sshServer {
	t.Helper()
	me, err := user.Current()
	must(t, err)
	dir := realDir(t)
	s := &sshServer{dir: realDir(t), user: me.Username, settings: filepath.Join(dir, "config"), socket: filepath.Join(dir, "agent")}
	if os.Geteuid() == 0 {
		must(t, os.MkdirAll("/run/sshd", 0o755))
	}
	for _, name := range []string{"host", "key"} {
		run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name))
	}
	free, err := net.Listen("tcp", sshHost+":0")
	must(t, err)
	_, s.port, _ = net.SplitHostPort(free.Addr().String())
	must(t, free.Close())
	must(t, os.WriteFile(filepath.Join(dir, "sshd_config"), fmt.Appendf(nil, `ListenAddress %s:%s
HostKey %s/host
AuthorizedKeysFile %s/key.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile none
PermitRootLogin prohibit-password
`, sshHost, s.port, dir, dir), 0o600))
	daemon := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	said, err := daemon.StderrPipe()
	must(t, err)
	must(t, daemon.Start())
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "Server listening") {
		t.Log(lines.Text())
	}
	go func() {
		for lines.Scan() {
		}
	}()
	agent := exec.Command("ssh-agent", "-D", "-a", s.socket)
	must(t, agent.Start())
	ended := make(chan error, 1)
	go func() { ended <- agent.Wait() }()
	t.Cleanup(func() { _ = agent.Process.Kill() })
	for {
		if c, err := net.Dial("unix", s.socket); err == nil {
			must(t, c.Close())
			break
		}
		select {
		case err := <-ended:
			t.Fatal("the agent ended: ", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Setenv("SSH_AUTH_SOCK", s.socket)
	run(t, "ssh-add", "-q", filepath.Join(dir, "key"))
	must(t, os.Remove(filepath.Join(dir, "key")))
	host, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "known"), []byte("["+sshHost+"]:"+s.port+" "+string(host)), 0o600))
	must(t, os.WriteFile(s.settings, fmt.Appendf(nil, "UserKnownHostsFile %s/known\nGlobalKnownHostsFile none\nHost work\n  HostName %s\n  Port %s\n  User %s\n",
		dir, sshHost, s.port, s.user), 0o600))
	return s
}

func (s *sshServer) host() string { return sshHost + ":" + s.port }

func (s *sshServer) url(name string) string {
	return "ssh://" + s.user + "@" + s.host() + filepath.Join(s.dir, name)
}

// clonedSSH is a workspace whose remote is on the server.
func clonedSSH(t *testing.T) (s *sshServer, x *site, bare string) {
	t.Helper()
	s = newSSHServer(t)
	bare = (&server{dir: s.dir}).repository(t, "shop.git")
	x = newSite(t, nil, s.host())
	x.put(filepath.Join(x.home, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.com\n[core]\n\tsshCommand = ssh -F "+s.settings+"\n")
	git(t, x.ws, "clone", "-q", bare, ".")
	git(t, x.ws, "remote", "set-url", "origin", s.url("shop.git"))
	return s, x.open(), bare
}

func run(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// Over ssh it is as over https: first contact asks once, a push asks each time, and the agent stays outside.
func TestSSH(t *testing.T) {
	s, x, bare := clonedSSH(t)
	commitTo(t, bare, "news")
	has(t, "the output", x.sh("git pull -q --ff-only origin main && git log --format=%s origin/main"), "news")
	if list := x.network(); len(list) != 1 || list[0].Host != s.host() || list[0].Sends {
		t.Errorf("asked about %v", list)
	}
	old := short(t, bare, "main")
	out := x.sh("git commit -q --allow-empty -m mine && git push origin HEAD:main HEAD:refs/heads/topic && env")
	has(t, "the output", out, "HEAD -> main", "HEAD -> topic")
	if strings.Contains(out, "SSH_AUTH_SOCK") {
		t.Error("the agent is in the sandbox")
	}
	asked := x.pushes()
	if len(asked) != 1 {
		t.Fatalf("asked %+v", asked)
	}
	has(t, "the question", asked[0].Message, "git would push main (1 commit, "+old+".."+short(t, bare, "main")+"), push new topic (1 commit, ", " to "+s.url("shop.git"))
	if got := git(t, bare, "log", "-1", "--format=%s", "main"); got != "mine" {
		t.Errorf("the remote has %q", got)
	}
	x.sh("git push origin :topic")
	if asked := x.pushes(); len(asked) != 1 || !asked[0].Effects[0].MustAsk {
		t.Errorf("asked %+v", asked)
	}
	has(t, "nothing to push", x.sh("git push origin main"), "Everything up-to-date")
}

// A name of the person's own ssh settings is shown as what it stands for.
func TestSSHNames(t *testing.T) {
	s, x, _ := clonedSSH(t)
	out := x.sh("git clone -q work:" + filepath.Join(s.dir, "shop.git") + " /tmp/copy && cat /tmp/copy/README")
	has(t, "the output", out, "hello from shop.git")
	asked := x.questions()
	if len(asked) != 1 {
		t.Fatalf("asked %+v", asked)
	}
	has(t, "the question", asked[0].Message, "git would read "+s.url("shop.git")+", which is not a remote of this repository, and log in there as you")
}

// What is declined is not sent, and git tells so.
func TestSSHDeclined(t *testing.T) {
	_, x, bare := clonedSSH(t)
	x.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{Approved: q.Effects[0].Kind != tongs.EffectNetwork || !q.Effects[0].Sends, Reason: "not today"}
	}
	res := x.shell("git commit -q --allow-empty -m mine && git push origin HEAD:main")
	has(t, "the output", res.Content, "a person declined the call: not today", "! [remote rejected] HEAD -> main (refused by tongs)")
	if got := git(t, bare, "log", "--format=%s", "main"); got != "first" {
		t.Errorf("the remote has %q", got)
	}
}

// An unknown host key, and a key that the server does not take, fail with what ssh says.
func TestSSHFailures(t *testing.T) {
	s, x, _ := clonedSSH(t)
	run(t, "ssh-add", "-q", "-D")
	has(t, "the output", x.shell("git fetch origin").Content, "Permission denied (publickey)")
	must(t, os.WriteFile(filepath.Join(filepath.Dir(s.settings), "known"), nil, 0o600))
	has(t, "the output", x.shell("git fetch origin").Content, "Host key verification failed")
}

// Nothing of the person's ssh settings runs before something was decided: neither a command that they depend on, nor a program
// in the place of ssh, nor a look-up of the name.
func TestSSHSettingsThatRun(t *testing.T) {
	for name, settings := range map[string]string{
		"Match exec": "Match host elsewhere* exec \"touch MARK\"\n  HostName 127.0.0.2\nHost *\n",
		"a program":  "",
	} {
		t.Run(name, func(t *testing.T) {
			s, x, _ := clonedSSH(t)
			mark := filepath.Join(x.home, "ran")
			old, err := os.ReadFile(s.settings)
			must(t, err)
			must(t, os.WriteFile(s.settings, []byte(strings.ReplaceAll(settings, "MARK", mark)+string(old)), 0o600))
			if settings == "" {
				program := filepath.Join(x.home, "ssh.sh")
				must(t, os.WriteFile(program, []byte("#!/bin/sh\ntouch "+mark+"\nexec ssh -F "+s.settings+" \"$@\"\n"), 0o755))
				x.put(filepath.Join(x.home, ".gitconfig"), "[core]\n\tsshCommand = "+program+"\n")
			}
			x.answer = func(approval.Question) approval.Answer { return approval.Answer{} }
			x.shell("git ls-remote ada@elsewhere.example:secret")
			asked := x.questions()
			if _, err := os.Lstat(mark); err == nil || len(asked) != 1 {
				t.Fatalf("it ran before anything was decided, or %d questions", len(asked))
			}
			has(t, "the question", asked[0].Message, "git would read ssh://ada@elsewhere.example/secret")
			x.answer = func(approval.Question) approval.Answer { return approval.Answer{Approved: true} }
			x.shell("git ls-remote ada@elsewhere.example:secret")
			if _, err := os.Lstat(mark); err != nil {
				t.Errorf("it did not run once it was decided: %+v", x.questions())
			}
			must(t, os.Remove(mark))
			if settings != "" {
				has(t, "a host that the command is not about", x.sh("git ls-remote origin"), "refs/heads/main")
				if _, err := os.Lstat(mark); err == nil {
					t.Error("it ran for another host")
				}
			}
		})
	}
}
