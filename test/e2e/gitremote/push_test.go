package gitremote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// cloned is a workspace that is a clone, made by the person.
func cloned(t *testing.T, s *server, name string) (x *site, bare string) {
	t.Helper()
	bare = s.repository(t, name)
	x = newSite(t, s)
	git(t, x.ws, "clone", "-q", bare, ".")
	git(t, x.ws, "remote", "set-url", "origin", s.url(name))
	return x.open(), bare
}

// pushes are the questions about pushes since the last time.
func (x *site) pushes() (list []approval.Question) {
	for _, q := range x.questions() {
		for _, e := range q.Effects {
			if e.Kind == tongs.EffectNetwork && e.Sends {
				list = append(list, q)
			}
		}
	}
	return list
}

// short is a commit as questions name it.
func short(t *testing.T, dir, name string) string {
	t.Helper()
	return git(t, dir, "rev-parse", name)[:10]
}

// A push asks once, and tells what is pushed where.
func TestPush(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	old := short(t, bare, "main")
	out := x.sh("echo more >> README && git commit -qam second && echo x > new && git add new && git commit -qm third && git push origin main")
	has(t, "the output", out, "To "+s.url("shop.git"), "main -> main")
	if got := git(t, bare, "log", "--format=%s", "main"); got != "third\nsecond\nfirst" {
		t.Fatalf("the remote has %q", got)
	}
	var asked []approval.Question
	for _, q := range x.questions() {
		if q.Effects[0].Kind == tongs.EffectNetwork {
			asked = append(asked, q)
		}
	}
	if len(asked) != 1 {
		t.Fatalf("asked %+v", asked)
	}
	want := "git would push main (2 commits, " + old + ".." + short(t, bare, "main") + ") to " + s.url("shop.git") +
		"; the command made commits that are not in your workspace yet, and they stay on the remote if you decline its changes"
	if q := asked[0]; q.Message != want || q.Effects[0].Host != s.host() || !q.Effects[0].Sends || q.Effects[0].MustAsk {
		t.Errorf("asked %q about %+v, want %q", q.Message, q.Effects, want)
	}
	has(t, "the preview", asked[0].Preview, " third\n", " second\n", "not in your workspace yet")
}

// A push of commits that the workspace has says nothing of the copy.
func TestPushOfEarlierCommits(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	x.sh("echo more >> README && git commit -qam second")
	x.sh("git push origin main")
	asked := x.pushes()
	if len(asked) != 1 || !strings.HasSuffix(asked[0].Message, " to "+s.url("shop.git")) {
		t.Errorf("asked %+v", asked)
	}
	if got := git(t, bare, "log", "-1", "--format=%s", "main"); got != "second" {
		t.Errorf("the remote has %q", got)
	}
}

// Every push asks, also after an approval for the session.
func TestEveryPushAsks(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	x.answer = forSession
	for i, message := range []string{"one", "two"} {
		x.sh("git commit -q --allow-empty -m " + message + " && git push -q origin main")
		if n := len(x.pushes()); n != 1 {
			t.Errorf("push %d: %d questions", i, n)
		}
	}
	if got := git(t, bare, "log", "--format=%s", "main"); got != "two\none\nfirst" {
		t.Errorf("the remote has %q", got)
	}
}

// What is declined is not sent.
func TestDeclinedPush(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	x.answer = func(q approval.Question) approval.Answer { return approval.Answer{Approved: !q.Effects[0].Sends} }
	res := x.shell("git commit -q --allow-empty -m second && git push origin main")
	has(t, "the output", res.Content, "a person declined the call")
	if got := git(t, bare, "log", "--format=%s", "main"); got != "first" {
		t.Errorf("the remote has %q", got)
	}
	for _, seen := range s.seen {
		if strings.HasPrefix(seen, "POST") {
			t.Errorf("the server saw %v", s.seen)
		}
	}
}

// Branches, tags, force pushes and deletions are told as what they are. What may lose something must be asked.
func TestKindsOfPush(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	for _, test := range []struct {
		command, says string
		must          bool
	}{
		{"git commit -q --allow-empty -m a && git push origin HEAD:refs/heads/topic", "push new topic (1 commit, ", false},
		{"git tag -m v1 v1 && git push origin v1", "push new tag v1 (no new commits, ", false},
		{"git push origin HEAD:main", "push main (no new commits, ", true}, // whether it only adds cannot be told
		{"git commit -q --amend --allow-empty -m b && git push -f origin HEAD:topic", "push topic (1 commit, ", true},
		{"git push origin :topic", "delete topic (", true},
		{"git push --delete origin v1", "delete tag v1 (", true},
		{
			"git reset -q --hard origin/main && git commit -q --allow-empty -m c && git push origin HEAD:main HEAD:refs/heads/x HEAD:refs/notes/y",
			"push main (1 commit, ", false,
		},
	} {
		x.sh(test.command)
		asked := x.pushes()
		if len(asked) != 1 {
			t.Fatalf("%s: %d questions", test.command, len(asked))
		}
		q := asked[0]
		has(t, test.command, q.Message, "git would ", test.says, s.url("shop.git"))
		if q.Effects[0].MustAsk != test.must {
			t.Errorf("%s: must be asked %v: %s", test.command, q.Effects[0].MustAsk, q.Message)
		}
	}
	if got := git(t, bare, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main\nrefs/heads/x\nrefs/notes/y" {
		t.Errorf("the remote has %q", got)
	}
}

// What the server refuses reaches whoever pushed: git itself, and hooks of the server.
func TestRejectedPush(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	hook := filepath.Join(bare, "hooks", "pre-receive")
	must(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	must(t, os.WriteFile(hook, []byte("#!/bin/sh\necho 'main is frozen' >&2\nexit 1\n"), 0o755))
	res := x.shell("git commit -q --allow-empty -m second && git push origin main")
	has(t, "the output", res.Content, "remote: main is frozen", "! [remote rejected] main -> main (pre-receive hook declined)")
	must(t, os.Remove(hook))
	commitTo(t, bare, "meanwhile")
	has(t, "the output", x.shell("git push origin main").Content, "! [rejected]        main -> main (fetch first)")
}

// A hook before the push runs in the sandbox, and can stop it.
func TestPrePushHook(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	must(t, os.MkdirAll(filepath.Join(x.ws, ".git", "hooks"), 0o755))
	must(t, os.WriteFile(filepath.Join(x.ws, ".git", "hooks", "pre-push"),
		[]byte("#!/bin/sh\necho \"hook: $1 $2 as $USER\"\ncat "+x.home+"/.gitconfig >/dev/null 2>&1 && echo outside\nexit 1\n"), 0o755))
	res := x.shell("git commit -q --allow-empty -m second && git push origin main")
	has(t, "the output", res.Content, "hook: origin "+s.url("shop.git")+" as sandbox")
	if strings.Contains(res.Content, "outside") || len(x.pushes()) != 0 {
		t.Errorf("the hook ran outside, or the push was asked for: %s", res.Content)
	}
	if got := git(t, bare, "log", "--format=%s", "main"); got != "first" {
		t.Errorf("the remote has %q", got)
	}
}

// A dry run sends nothing, and asks nobody.
func TestDryRunPushesNothing(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	args := []byte(`{"command": "git commit -q --allow-empty -m mine && git push origin main"}`)
	res := x.sys.Call(t.Context(), &tongs.Call{Tool: "shell", Args: args, Session: "s", DryRun: true})
	has(t, "the output", res.Content, "a dry run pushes nothing")
	if got := git(t, bare, "log", "--format=%s", "main"); got != "first" || len(x.pushes()) != 0 {
		t.Errorf("the remote has %q", got)
	}
}

// Servers act on push options, such as one to merge at once, so the question has them.
func TestPushOptions(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	git(t, bare, "config", "receive.advertisePushOptions", "true")
	x.sh("git commit -q --allow-empty -m second && git push -o merge_request.create -o ci.skip origin main")
	asked := x.pushes()
	if len(asked) != 1 {
		t.Fatalf("asked %+v", asked)
	}
	has(t, "the question", asked[0].Message, " with push options (merge_request.create, ci.skip)")
}

// A small pack may have a commit that is too large to show.
func TestLargeCommit(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	res := x.shell("head -c 70000000 /dev/zero | tr '\\0' x > /tmp/m && git commit -q --allow-empty --cleanup=verbatim -F /tmp/m && git push origin main")
	has(t, "the output", res.Content, "have more than 64 MiB")
	if got := git(t, bare, "log", "--format=%s", "main"); got != "first" {
		t.Errorf("the remote has %q", got[:min(len(got), 100)])
	}
}
