package confine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func onCopy(script string) string {
	args, _ := json.Marshal(map[string]any{"copy": true, "script": script})
	return string(args)
}

func pre(tool string) tongs.Rule {
	return tongs.Rule{Tool: tool, Decision: tongs.PreApproved, Layer: tongs.LayerUser}
}

// shape is what is at a path, in a word: what it holds, or where it leads.
func shape(t *testing.T, dir, name string) string {
	t.Helper()
	at := filepath.Join(dir, name)
	info, err := os.Lstat(at)
	switch {
	case err != nil:
		return "nothing"
	case info.Mode()&os.ModeSymlink != 0:
		to, _ := os.Readlink(at)
		return "-> " + to
	case info.IsDir():
		return "dir"
	}
	data, err := os.ReadFile(at)
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(string(data))
}

// A person pre-approved edits and new files. What deletes, plants, or makes a link is asked about all the same, and says
// what it does; nothing holds before.
func TestAttackWhatEditsDoNotFree(t *testing.T) {
	for _, c := range []struct {
		name, script string
		shown        string            // a part of the preview
		after        map[string]string // once it was approved
	}{
		{"a directory becomes a link", "rm -rf src; ln -s /etc src", "becomes a link to /etc", map[string]string{"src": "-> /etc"}},
		{"a directory becomes a file", "rm -rf src; echo evil > src", "+evil", map[string]string{"src": "evil"}},
		{"a file becomes a link", "rm a.txt; ln -s /etc/passwd a.txt", "becomes a link to /etc/passwd", map[string]string{"a.txt": "-> /etc/passwd"}},
		{"a file becomes a directory", "rm a.txt; mkdir a.txt; echo x > a.txt/b", "becomes a directory", map[string]string{"a.txt/b": "x"}},
		{"a link becomes a directory", "rm cur; mkdir cur; echo x > cur/f", "becomes a directory", map[string]string{"cur/f": "x", "v1/f": "v1"}},
		{"a link becomes a file", "rm cur; echo evil > cur", "+evil", map[string]string{"cur": "evil"}},
		{"a link leads elsewhere", "ln -sfn /etc cur", "a link to /etc", map[string]string{"cur": "-> /etc"}},
		{"a new link", "ln -s /etc new", "a link to /etc", map[string]string{"new": "-> /etc"}},
		{"deleted", "rm -r src", "src", map[string]string{"src": "nothing"}},
		{"moved", "mv a.txt b.txt", "a.txt", map[string]string{"a.txt": "nothing", "b.txt": "a"}},
		{"made again without a file", "rm -r src; mkdir src; echo 1 > src/one.txt", "two.txt", map[string]string{"src/two.txt": "nothing"}},
		{"a secret", "echo evil > .npmrc", "+evil", map[string]string{".npmrc": "evil"}},
		{"a secret in a directory that was a link", "rm cur; mkdir cur; echo evil > cur/.npmrc", "+evil", map[string]string{"cur/.npmrc": "evil"}},
		{"keys", "mkdir .ssh; echo evil > .ssh/config", "+evil", map[string]string{".ssh/config": "evil"}},
		{"upper case", "mkdir -p .GIT/hooks; echo evil > .GIT/hooks/post-commit", "+evil", map[string]string{".GIT/hooks/post-commit": "evil"}},
		{
			"a repository without that name", "mkdir -p r/hooks r/objects r/refs; echo ref > r/HEAD; echo evil > r/hooks/pre-commit", "+evil",
			map[string]string{"r/hooks/pre-commit": "evil"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := setup(t, withCopies(t), pre("edit"), pre("write_file"))
			for name, content := range map[string]string{"src/one.txt": "1", "src/two.txt": "2", "a.txt": "a", "v1/f": "v1"} {
				b.write(t, name, content)
			}
			if err := os.Symlink("v1", filepath.Join(b.dir, "cur")); err != nil {
				t.Fatal(err)
			}
			before := map[string]string{}
			for name := range c.after {
				before[name] = shape(t, b.dir, name)
			}
			b.say = false
			if _, res := b.run(t, onCopy(c.script)); len(b.asked) != 1 || res.Error == nil {
				t.Fatalf("asked %d times: %s", len(b.asked), res.Content)
			}
			if !strings.Contains(b.asked[0].Preview, c.shown) {
				t.Errorf("not shown: %q in\n%s", c.shown, b.asked[0].Preview)
			}
			for name, was := range before {
				if got := shape(t, b.dir, name); got != was {
					t.Errorf("declined, and %s is %q", name, got)
				}
			}
			b.say = true
			if _, res := b.run(t, onCopy(c.script)); res.Error != nil {
				t.Fatalf("approved: %s", res.Content)
			}
			for name, want := range c.after {
				if got := shape(t, b.dir, name); got != want {
					t.Errorf("approved, and %s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// What no call can name is not kept, and is named; everything beside it is judged and kept.
func TestAttackNamesThatCannotBeKept(t *testing.T) {
	deep := `n=$(printf 'd%.0s' $(seq 200)); for i in $(seq 30); do mkdir $n; cd $n 2>/dev/null; done; echo x > y`
	for _, c := range []struct{ name, script, said string }{
		{"not UTF-8", `printf x > "$(printf 'a\377')"; echo x > ok`, `"a\xff" cannot be kept: no call can name it`},
		{"a directory that is not", `mkdir "$(printf 'a\377')"; echo y > "$(printf 'a\377')/y"; echo x > ok`, `"a\xff/y" cannot be kept`},
		{"many", `for i in $(seq 30); do : > "$(printf "$i\377")"; done; echo x > ok`, "20 more cannot be kept"},
		{"one that was there", `rm had*; echo x > ok`, `"had\xff" cannot be kept`},
		{"one that was there moved", `mv had* moved; echo x > ok`, `"had\xff" cannot be kept`},
		{"a stage", `mkdir .tongs-txn-x; echo x > .tongs-txn-x/y; echo x > ok`, ".tongs-txn-x cannot be kept"},
		{"a stage below", `mkdir -p d/.tongs-txn-x; echo x > ok`, "d/.tongs-txn-x cannot be kept"},
		{"a path that is too long", `(` + deep + `); echo x > ok`, "dd... cannot be kept: "},
		{"a FIFO", `mkfifo pipe; echo x > ok`, "pipe cannot be kept: a FIFO"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := setup(t, withCopies(t))
			b.write(t, "had\xff", "had")
			out, res := b.run(t, onCopy(c.script))
			if res.Error != nil || shape(t, b.dir, "ok") != "x" || shape(t, b.dir, "had\xff") != "had" {
				t.Errorf("%s", res.Content)
			}
			if said := strings.Join(out.Refused, "\n"); !strings.Contains(said, c.said) || !utf8.ValidString(said) || len(said) > 10_000 {
				t.Errorf("said %q, want %q", said, c.said)
			}
		})
	}
}

// A person keeps some: what they did not name stays as it was, however the names begin.
func TestAttackKeepingSome(t *testing.T) {
	for _, c := range []struct {
		keep []string
		want map[string]string // nil: the answer is refused
	}{
		{[]string{"a"}, map[string]string{"a/x": "x", "ab": "nothing", "a.txt": "a"}},
		{[]string{"a/"}, map[string]string{"a/x": "x", "ab": "nothing"}},
		{[]string{"ab"}, map[string]string{"a/x": "nothing", "a": "nothing", "ab": "x"}},
		{[]string{"../a"}, nil},
		{[]string{"/a"}, nil},
		{[]string{""}, nil},
		{[]string{"."}, nil},
		{[]string{"a/../ab"}, nil},
		{[]string{}, nil},
		{[]string{"gone/in"}, nil},
		{[]string{"gone"}, map[string]string{"gone": "nothing", "ab": "nothing"}},
	} {
		t.Run(strings.Join(c.keep, ","), func(t *testing.T) {
			b := setup(t, withCopies(t))
			b.write(t, "a.txt", "a")
			b.write(t, "gone/in", "in")
			b.answer = func(approval.Question) approval.Answer { return approval.Answer{Approved: true, Keep: c.keep} }
			_, res := b.run(t, onCopy("mkdir a; echo x > a/x; echo x > ab; echo x > a.txt; rm -r gone"))
			if (c.want == nil) != (res.Error != nil) {
				t.Errorf("%s", res.Content)
			}
			if c.want == nil {
				c.want = map[string]string{"a": "nothing", "ab": "nothing", "a.txt": "a", "gone/in": "in"}
			}
			for name, want := range c.want {
				if got := shape(t, b.dir, name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// What nobody obeyed becomes obeyed by what comes beside it: two harmless halves of a repository with hooks.
func TestAttackARepositoryInTwoHalves(t *testing.T) {
	b := setup(t, withCopies(t))
	if _, res := b.run(t, onCopy("mkdir -p r/hooks; echo evil > r/hooks/pre-commit")); res.Error != nil || len(b.asked) != 0 {
		t.Fatalf("asked %d times: %s", len(b.asked), res.Content)
	}
	b.say = false
	_, res := b.run(t, onCopy("mkdir -p r/objects r/refs; echo ref > r/HEAD; echo x > other.txt"))
	if len(b.asked) != 1 || res.Error == nil || shape(t, b.dir, "r/HEAD") != "nothing" {
		t.Fatalf("asked %d times: %s", len(b.asked), res.Content)
	}
	for _, c := range b.asked[0].Changes {
		if special := c.Protected != ""; special != strings.HasPrefix(c.Path.Rel, "r/") {
			t.Errorf("%s is said to be %q", c.Path, c.Protected)
		}
	}
}

// The same change of another file, or of what is there by now something else, is another question.
func TestAttackAnswersAreForWhatWasShown(t *testing.T) {
	b := setup(t, withCopies(t))
	digests := map[string]string{}
	b.say = false
	for _, was := range []string{"first", "other"} {
		b.write(t, "a.txt", was)
		b.write(t, "gone/x", was+was)
		b.run(t, onCopy("echo x > a.txt; rm -r gone"))
		digest := b.asked[len(b.asked)-1].Digest
		if digests[digest] != "" {
			t.Errorf("what goes is %q and was %q, and the question is the same", was, digests[digest])
		}
		digests[digest] = was
	}
	n := len(b.asked)
	b.run(t, onCopy("echo x > a.txt; rm -r gone"))
	if len(b.asked) == n {
		t.Fatal("it was not asked again")
	}
	if digests[b.asked[n].Digest] != "other" {
		t.Error("the same change is another question")
	}
}

// A dry run leaves nothing, not even where programs write directly otherwise.
func TestAttackDryRunsLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	opt := withCopies(t)
	opt.Through = []string{filepath.Join(dir, "cache")}
	b := setupIn(t, dir, opt)
	b.write(t, "cache/old", "old")
	b.write(t, "a.txt", "a")
	args := onCopy("echo x > cache/new; rm cache/old; echo x > a.txt; echo evil > .npmrc; cat a.txt")
	res := b.Call(t.Context(), &tongs.Call{Tool: "run", Args: []byte(args), DryRun: true})
	if res.Error != nil || !strings.Contains(res.Content, "x") || len(b.asked) != 0 {
		t.Fatalf("asked %d times: %s", len(b.asked), res.Content)
	}
	for name, want := range map[string]string{"cache/new": "nothing", "cache/old": "old", "a.txt": "a", ".npmrc": "nothing"} {
		if got := shape(t, b.dir, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if list, err := opt.Changes.List(journal.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("the journal has %v, %v", list, err)
	}
	if left, _ := os.ReadDir(opt.Layers); len(left) != 0 {
		t.Errorf("left in the layers: %v", left)
	}
}

// What is written directly beside a copy is looked at as after any other run: planted names wait.
func TestAttackPlantedThroughACopy(t *testing.T) {
	dir := t.TempDir()
	opt := withCopies(t)
	opt.Through = []string{filepath.Join(dir, "cache")}
	b := setupIn(t, dir, opt)
	b.write(t, "cache/old", "old")
	b.say = false
	out, res := b.run(t, onCopy("echo evil > cache/.npmrc; echo evil > cache/.envrc; echo x > cache/fine; echo x > new.txt"))
	for name, want := range map[string]string{"cache/.npmrc": "nothing", "cache/.envrc": "nothing", "cache/fine": "x", "new.txt": "x"} {
		if got := shape(t, b.dir, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if len(out.Held) != 2 {
		t.Errorf("held %q: %s", out.Held, res.Content)
	}
}

// A rule hides a file from programs. Moving the directory that it is in does not bring it to where no rule is about it.
func TestAttackMovingWhatARuleHides(t *testing.T) {
	for _, args := range []string{script("mv deep moved; true"), onCopy("mv deep moved; true"), script("mkdir x; mv deep/er x/er; true")} {
		rules := []tongs.Rule{{Effects: tongs.Kinds(tongs.EffectRead), Pattern: "deep/er/plan.txt", Decision: tongs.Blocked, Layer: tongs.LayerUser}}
		opt := withCopies(t)
		opt.Rules = func() []tongs.Rule { return rules }
		b := setup(t, opt, rules...)
		b.write(t, "deep/er/plan.txt", "PLAN")
		_, res := b.run(t, args)
		for _, name := range []string{"moved/er/plan.txt", "x/er/plan.txt"} {
			if shape(t, b.dir, name) == "PLAN" {
				t.Errorf("%s: moved, and out of the rule: %s", args, res.Content)
			}
		}
		if out, _ := b.run(t, script("cat moved/er/plan.txt x/er/plan.txt; true")); strings.Contains(out.Out, "PLAN") {
			t.Errorf("%s: read", args)
		}
	}
}

// A rule about paths holds for what comes there from a copy, however it comes.
func TestAttackRulesAboutWhatComesFromACopy(t *testing.T) {
	rules := []tongs.Rule{
		pre("edit"), pre("write_file"), pre("delete_file"),
		{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "locked/**", Decision: tongs.Blocked, Layer: tongs.LayerUser},
		{Effects: tongs.Kinds(tongs.EffectDelete), Pattern: "**/*.keep", Decision: tongs.Blocked, Layer: tongs.LayerUser},
	}
	for _, script := range []string{
		"mkdir -p locked; echo evil > locked/new", "mkdir -p locked/deep; echo evil > locked/deep/new", "mkdir -p locked; mv a.txt locked/a.txt",
		"mkdir -p locked; ln -s ../a.txt locked/link", "rm link; mkdir link; mkdir locked; echo evil > locked/new", "rm -rf sub", "rm sub/x.keep", "mv sub/x.keep sub/y",
		"rm -rf sub; echo evil > sub", "mkdir d; mv sub d/sub", "rm -rf sub; mkdir sub; echo x > sub/y",
	} {
		t.Run(script, func(t *testing.T) {
			opt := withCopies(t)
			opt.Rules = func() []tongs.Rule { return rules }
			b := setup(t, opt, rules...)
			b.write(t, "a.txt", "a")
			b.write(t, "sub/x.keep", "keep")
			if err := os.Symlink("a.txt", filepath.Join(b.dir, "link")); err != nil {
				t.Fatal(err)
			}
			_, res := b.run(t, onCopy(script+"; true"))
			if entries, _ := os.ReadDir(filepath.Join(b.dir, "locked")); len(entries) != 0 {
				t.Errorf("in locked are %v: %s", entries, res.Content)
			}
			if got := shape(t, b.dir, "sub/x.keep"); got != "keep" {
				t.Errorf("sub/x.keep is %q: %s", got, res.Content)
			}
		})
	}
}

// What is free to write and costs much to read is not read: such a file is like none that another run leaves.
func TestAttackHugeHoles(t *testing.T) {
	b := setup(t, withCopies(t))
	b.write(t, "a.txt", "a")
	b.say = false
	var versions []map[string]tongs.Version
	for range 2 {
		b.asked = nil
		b.run(t, onCopy("truncate -s 1500M huge; truncate -s 1M small; echo x > a.txt"))
		if len(b.asked) != 1 || !strings.Contains(strings.Join(b.asked[0].Notes, "\n"), "for this run alone") {
			t.Fatalf("%+v", b.asked)
		}
		seen := map[string]tongs.Version{}
		for _, e := range b.asked[0].Effects {
			seen[e.Path.Rel] = e.Version
		}
		versions = append(versions, seen)
	}
	if first, second := versions[0], versions[1]; first["small"] == "" || first["small"] != second["small"] || first["huge"] == second["huge"] {
		t.Errorf("%v\n%v", first, second)
	}
}
