package gitremote

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// network are the effects on hosts of the questions since the last time.
func (x *site) network() (list []tongs.Effect) {
	for _, q := range x.questions() {
		for _, e := range q.Effects {
			if e.Kind == tongs.EffectNetwork {
				list = append(list, e)
			}
		}
	}
	return list
}

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// A clone asks once for the host, and git sees the addresses as they are.
func TestClone(t *testing.T) {
	s := newServer(t)
	s.repository(t, "open.git")
	x := newSite(t, s).open()
	out := x.sh("git clone " + s.url("open.git") + " copy && cat copy/README && git -C copy remote -v")
	has(t, "the output", out, "hello from open.git", "origin\t"+s.url("open.git"))
	asked := x.questions()
	if len(asked) == 0 || asked[0].Message != "git would read "+s.url("open.git") {
		t.Fatalf("asked %+v", asked)
	}
	if e := asked[0].Effects; len(e) != 1 || e[0].Kind != tongs.EffectNetwork || e[0].Host != s.host() || e[0].Sends {
		t.Errorf("asked about %v", e)
	}
}

// Who is not asked, or says no, is not reached.
func TestDeclined(t *testing.T) {
	s := newServer(t)
	s.repository(t, "open.git")
	x := newSite(t, s)
	x.answer = func(approval.Question) approval.Answer { return approval.Answer{Reason: "not today"} }
	res := x.open().shell("git clone " + s.url("open.git") + " copy")
	has(t, "the output", res.Content, "a person declined the call: not today")
	if len(s.seen) != 0 {
		t.Errorf("the server saw %v", s.seen)
	}
}

// An approval for the session answers the next fetch.
func TestFirstContact(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "open.git")
	x.answer = forSession
	commitTo(t, bare, "news")
	has(t, "the output", x.sh("git fetch origin && git log --format=%s origin/main"), "news")
	if list := x.network(); len(list) != 1 {
		t.Errorf("asked about %v", list)
	}
	commitTo(t, bare, "more news")
	has(t, "the output", x.sh("git ls-remote origin && git fetch && git log --format=%s origin/main"), "more news")
	if list := x.network(); len(list) != 0 {
		t.Errorf("asked again about %v", list)
	}
}

// A remote of the repository itself gets the user's credentials with its host. They are nowhere in the sandbox.
func TestPrivateRemote(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	commitTo(t, bare, "news")
	out := x.sh("git -c http.sslVerify=true fetch -v origin && git log --format=%s origin/main && env && find / -xdev -name '.git-credentials' 2>/dev/null; true")
	has(t, "the output", out, "news")
	if strings.Contains(out, password) || strings.Contains(out, ".git-credentials") {
		t.Errorf("the password is in the sandbox:\n%s", out)
	}
	if list := x.network(); len(list) != 1 {
		t.Errorf("asked about %v", list)
	}
	x.sh("! grep -rs " + password + " / --include='*' --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr")
}

// Any other repository that the user can read is asked about.
func TestOtherPrivateRepository(t *testing.T) {
	s := newServer(t)
	s.repository(t, "secret.git")
	x, _ := cloned(t, s, "shop.git")
	x.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{Approved: !strings.Contains(q.Message, "log in as you")}
	}
	res := x.shell("git clone " + s.url("secret.git") + " copy")
	has(t, "the output", res.Content, "declined")
	if strings.Contains(strings.Join(s.seen, " "), "secret") {
		t.Errorf("the server saw %v", s.seen)
	}
	x.questions()
	x.answer = func(approval.Question) approval.Answer { return approval.Answer{Approved: true} }
	has(t, "the output", x.sh("git clone -q "+s.url("secret.git")+" /tmp/copy && cat /tmp/copy/README"), "hello from secret.git")
	asked := x.questions()
	if len(asked) != 2 || asked[1].Message != "git would log in as you at "+s.url("secret.git")+", which is not a remote of this repository" {
		t.Errorf("asked %+v", asked)
	}
}

// Without credentials the failure tells what to do.
func TestNoCredentials(t *testing.T) {
	s := newServer(t)
	x, _ := cloned(t, s, "shop.git")
	must(t, os.Remove(filepath.Join(x.home, ".git-credentials")))
	res := x.shell("git fetch origin")
	has(t, "the output", res.Content, "no credentials for https://"+s.host(), "in your own terminal")
	x.put(filepath.Join(x.home, ".git-credentials"), "https://ada:wrong@"+strings.ReplaceAll(s.host(), ":", "%3a")+"\n")
	has(t, "the output", x.shell("git fetch origin").Content, "does not accept your credentials")
}

// Shallow and partial clones, submodules and other programs that run git work as they are.
func TestKindsOfFetch(t *testing.T) {
	s := newServer(t)
	inner := s.repository(t, "open-inner.git")
	outer := s.repository(t, "open-outer.git")
	git(t, inner, "config", "uploadpack.allowFilter", "true")
	commitTo(t, inner, "news")
	addSubmodule(t, outer, s.url("open-inner.git"), git(t, inner, "rev-parse", "main"))
	x := newSite(t, s).open()
	out := x.sh("cd /tmp && git clone -q --depth 1 " + s.url("open-inner.git") + " shallow && git -C shallow rev-list --count HEAD")
	has(t, "a shallow clone", out, "1\n")
	out = x.sh("cd /tmp && git clone -q --filter=blob:none --no-checkout " + s.url("open-inner.git") + " partial && git -C partial checkout -q main && cat partial/README")
	has(t, "a partial clone", out, "hello from open-inner.git")
	out = x.sh("cd /tmp && git clone -q --recurse-submodules " + s.url("open-outer.git") + " deep && cat deep/inner/README")
	has(t, "a clone with submodules", out, "hello from open-inner.git")
	out = x.sh(`cd /tmp && python3 -c "import subprocess; subprocess.check_call(['git', 'clone', '-q', '` + s.url("open-inner.git") + `', 'by'])" && cat by/README`)
	has(t, "a clone by a program", out, "hello from open-inner.git")
}

// commitTo adds a commit to main of a bare repository.
func commitTo(t *testing.T, bare, message string) {
	t.Helper()
	work := realDir(t)
	git(t, work, "clone", "-q", bare, ".")
	git(t, work, "commit", "-q", "--allow-empty", "-m", message)
	git(t, work, "push", "-q", bare, "HEAD:main")
}

// addSubmodule adds a submodule to main of a bare repository.
func addSubmodule(t *testing.T, bare, url, commit string) {
	t.Helper()
	work := realDir(t)
	git(t, work, "clone", "-q", bare, ".")
	must(t, os.WriteFile(filepath.Join(work, ".gitmodules"), []byte("[submodule \"inner\"]\n\tpath = inner\n\turl = "+url+"\n"), 0o644))
	git(t, work, "add", ".gitmodules")
	git(t, work, "update-index", "--add", "--cacheinfo", "160000,"+commit+",inner")
	git(t, work, "commit", "-q", "-m", "submodule")
	git(t, work, "push", "-q", bare, "HEAD:main")
}

// An address of this machine or network that no rule names is asked about as such, also before a push.
func TestPrivateAddress(t *testing.T) {
	s := newServer(t)
	bare := s.repository(t, "shop.git")
	x := newSite(t, s)
	x.put(filepath.Join(x.home, "config", "config.yaml"), "{}\n")
	git(t, x.ws, "clone", "-q", bare, ".")
	git(t, x.ws, "remote", "set-url", "origin", s.url("shop.git"))
	x.open()
	x.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{Approved: q.Effects[0].Kind != tongs.EffectNetwork}
	}
	for _, command := range []string{"git fetch origin", "git commit -q --allow-empty -m x && git push origin main"} {
		has(t, command, x.shell(command).Content, "declined")
		if list := x.network(); len(list) != 1 || !list[0].Private || list[0].Host != s.host() {
			t.Errorf("%s asked about %+v", command, list)
		}
	}
	if len(s.seen) != 0 {
		t.Errorf("the server saw %v", s.seen)
	}
	x.answer = func(approval.Question) approval.Answer { return approval.Answer{Approved: true} }
	x.sh("git fetch origin && git log origin/main")
}

// A host that is limited to some methods of HTTP is no remote.
func TestLimitedHost(t *testing.T) {
	s := newServer(t)
	s.repository(t, "open.git")
	x := newSite(t, s)
	x.put(filepath.Join(x.home, "config", "config.yaml"), "sandbox:\n  network:\n    hosts:\n      - host: \""+s.host()+"\"\n        methods: [GET]\n")
	has(t, "the output", x.open().shell("git clone "+s.url("open.git")).Content, "is limited to some methods of HTTP")
	if len(s.seen) != 0 {
		t.Errorf("the server saw %v", s.seen)
	}
}

// A header with credentials in the user's settings is used as other credentials are: no other repository gets it unasked.
func TestHeaderOfTheSettings(t *testing.T) {
	s := newServer(t)
	s.repository(t, "secret.git")
	x, _ := cloned(t, s, "shop.git")
	must(t, os.Remove(filepath.Join(x.home, ".git-credentials")))
	basic := base64.StdEncoding.EncodeToString([]byte(login + ":" + password))
	git(t, x.home, "config", "--file", filepath.Join(x.home, ".gitconfig"), "http.https://"+s.host()+"/.extraHeader", "Authorization: Basic "+basic)
	x.sh("git fetch -q origin")
	x.questions()
	x.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{Approved: !strings.Contains(q.Message, "log in as you")}
	}
	res := x.shell("git clone " + s.url("secret.git") + " copy")
	has(t, "the output", res.Content, "declined")
	if strings.Contains(strings.Join(s.seen, " "), "secret") {
		t.Errorf("the server saw %v", s.seen)
	}
	x.answer = func(approval.Question) approval.Answer { return approval.Answer{Approved: true} }
	has(t, "the output", x.sh("git clone -q "+s.url("secret.git")+" /tmp/copy && cat /tmp/copy/README"), "hello from secret.git")
}
