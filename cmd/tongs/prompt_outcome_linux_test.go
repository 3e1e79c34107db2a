package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// script makes a script of the workspace.
func (d *desk) script(name, text string) {
	d.t.Helper()
	if err := os.Chmod(d.write(name, "#!/bin/sh\n"+text), 0o755); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) has(name string) bool {
	_, err := os.Lstat(filepath.Join(d.dir, "ws", name))
	return err == nil
}

const migrate = "echo two > a.txt\necho new > b.txt\nmkdir -p db; echo 1 > db/1.sql; echo 2 > db/2.sql\nrm -f old.txt\necho x > .envrc\necho migrated\n"

func migrating(t *testing.T) *desk {
	d := newDesk(t)
	d.write("old.txt", "old\n")
	d.script("migrate.sh", migrate)
	return d
}

func TestOutcomeKeepsAll(t *testing.T) {
	d := migrating(t)
	c := d.terminal("call", "shell", "command=./migrate.sh")
	c.expect(` shell  added \.envrc \(protected\) and 6 more changes, on a copy`)
	c.expect(`│ \$ \./migrate\.sh`)
	c.expect(`1  added +\.envrc +2 bytes +\(protected: .*direnv`)
	c.expect(`2  deleted +old\.txt +4 bytes`)
	c.expect(`3  modified  a\.txt +4 bytes → 4 bytes`)
	c.expect(`added +db +directory`)
	c.expect(`y keep all 7   k keep some…   n drop all, because…   \? details\s+> `)
	if d.read("a.txt") != "one\n" || d.has("b.txt") {
		t.Error("it holds before anybody answered")
	}
	c.typing("y")
	if code := c.exit(); code != 0 || d.read("a.txt") != "two\n" || !d.has("db/2.sql") || d.has("old.txt") || !d.has(".envrc") {
		t.Errorf("exit %d\n%s", code, c.screen())
	}
	if s := c.screen(); strings.Contains(s, "this session") || strings.Contains(s, "always") || strings.Contains(s, "change…") {
		t.Errorf("a wider choice is offered:\n%s", s)
	}
}

func TestOutcomeKeepsSome(t *testing.T) {
	d := migrating(t)
	c := d.terminal("call", "shell", "command=./migrate.sh")
	c.expect(chosen)
	for _, wrong := range []string{"9", "0", "3-2", "nowhere.txt", "a.tx", ""} {
		c.typing("k")
		c.expect(`Keep which\? .*: `)
		c.typing(wrong + "\r")
		c.expect(`is not in the list|is not among the changes|names no change`)
		c.expect(chosen)
	}
	c.typing("k")
	c.expect(`Keep which\? .*: `)
	c.typing("3, ./db/2.sql 2\r")
	c.expect(`Kept \(3 of 7\):\s+deleted +old\.txt[^:]*modified  a\.txt[^:]*added +db/2\.sql`)
	c.expect(`Dropped \(4 of 7\):\s+added +\.envrc`)
	c.expect(`y keeps these and drops the rest, Esc goes back: `)
	c.typing("\x1b")
	c.expect(chosen)
	c.typing("k")
	c.expect(`Keep which\? .*: `)
	c.typing("3, ./db/2.sql 2\r")
	c.expect(`y keeps these and drops the rest, Esc goes back: `)
	c.typing("y")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, c.screen())
	}
	if d.read("a.txt") != "two\n" || d.has("old.txt") || !d.has("db/2.sql") || d.has("db/1.sql") || d.has(".envrc") || d.has("b.txt") {
		t.Errorf("what holds is not what was kept\n%s", c.screen())
	}
	// All of it can be taken back.
	if _, stderr, code := d.run("undo", "--mode", "all"); code != 0 || d.read("a.txt") != "one\n" || !d.has("old.txt") || d.has("db") {
		t.Errorf("undo: exit %d: %s", code, stderr)
	}
}

func TestOutcomeIsDropped(t *testing.T) {
	d := migrating(t)
	c := d.terminal("call", "shell", "command=./migrate.sh")
	c.expect(chosen)
	c.typing("n")
	c.expect(`Reason for the agent`)
	c.typing("not on Sundays\r")
	c.expect(`DENIED: .*not on Sundays; none of its changes were kept`)
	if code := c.exit(); code != 3 || d.read("a.txt") != "one\n" || d.has("b.txt") || !d.has("old.txt") {
		t.Errorf("exit %d\n%s", code, c.screen())
	}
	c = d.terminal("call", "shell", "command=./migrate.sh")
	c.expect(chosen)
	for _, keys := range []string{"s", "a", "e", "\r", "\x1b[A", "yy"} { // wider scopes and other arguments are not on offer
		c.typing(keys)
	}
	c.typing("\x03")
	c.expect(`Cancelled; nothing was approved`)
	if code := c.exit(); code != 1 || d.read("a.txt") != "one\n" {
		t.Errorf("exit %d\n%s", code, c.screen())
	}
}

// A long difference is shown on demand, and in pages; a long list too.
func TestOutcomePagesWhatIsLong(t *testing.T) {
	d := newDesk(t)
	d.script("long.sh", "seq 100 > a.txt\nfor i in $(seq 60); do echo $i > file$i.txt; done\n")
	c := d.terminal("call", "shell", "command=./long.sh")
	c.expect(`1  modified  a\.txt`)
	c.expect(`and \d+ more; \? lists them`)
	c.expect(`… \d+ more lines; \? shows everything`)
	c.expect(chosen)
	if strings.Contains(c.screen(), "+100") {
		t.Error("the whole difference is shown unasked")
	}
	c.typing("?")
	for !strings.HasPrefix(c.expect(`61  added|q ends\) `)[0], "61") {
		c.typing(" ")
	}
	c.expect(`\(\d+% of [0-9.]+ kB: Space goes on, .*q ends\) `)
	c.typing("q")
	c.expect(chosen)
	c.typing("k")
	c.expect(`Keep which\? .*: `)
	c.typing("2-60\r")
	c.expect(`Kept \(59 of 61\):`)
	c.expect(`and 39 more`)
	c.expect(`Esc goes back: `)
	c.typing("\x03")
	if code := c.exit(); code != 1 || d.read("a.txt") != "one\n" {
		t.Errorf("exit %d\n%s", code, c.screen())
	}
}

// Where there is much, a new directory stands for what is in it.
func TestOutcomeFoldsDirectories(t *testing.T) {
	d := newDesk(t)
	d.script("fill.sh", "mkdir -p lib/sub; for i in $(seq 30); do echo $i > lib/sub/$i; done; echo x > lib/.envrc; echo two > a.txt\n")
	c := d.terminal("call", "shell", "command=./fill.sh")
	c.expect(`1  added +lib/\.envrc .*protected`)
	c.expect(`2  modified +a\.txt`)
	c.expect(`3  added +lib +directory with 32 paths, \d+ bytes\s+\? lists what is in the directories`)
	c.expect(chosen)
	c.typing("k")
	c.expect(`Keep which\? .*: `)
	c.typing("2 lib/sub/7\r")
	c.expect(`Kept \(2 of 34\):`)
	c.expect(`Esc goes back: `)
	c.typing("y")
	if code := c.exit(); code != 0 || d.read("a.txt") != "two\n" || !d.has("lib/sub/7") || d.has("lib/sub/8") || d.has("lib/.envrc") {
		t.Errorf("exit %d\n%s", code, c.screen())
	}
}

// Names and contents that a program chose cannot pass for ours.
func TestOutcomeShowsUntrustedTextHarmless(t *testing.T) {
	d := newDesk(t)
	d.script("evil.sh", "printf 'x\\n y keep nothing\\n\\033[2J' > a.txt\ntouch \"$(printf 'a\\033[2J\\n y keep nothing\\342\\200\\256')\"\n")
	c := d.terminal("call", "shell", "command=./evil.sh")
	c.expect(chosen)
	shown := c.screen()
	c.typing("\x03")
	c.exit()
	if strings.Contains(shown, "\x1b[2J") || strings.Contains(shown, "\u202e") || strings.Contains(shown, "\n y keep nothing") {
		t.Errorf("the screen has what the program wrote:\n%q", shown)
	}
	if !strings.Contains(shown, `a\x1b[2J\n y keep nothing\u202e`) {
		t.Errorf("the name is not shown:\n%q", shown)
	}
}

// An approval from elsewhere serves the same call while it changes exactly the same, and no other.
func TestOutcomeApprovedElsewhere(t *testing.T) {
	d := migrating(t)
	ask := func(command string) string {
		t.Helper()
		_, stderr, code := d.run("call", "shell", "--session", "s1", "command="+command)
		if code != 3 || !strings.Contains(stderr, "an approval makes them exactly as they were shown") {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return regexp.MustCompile(`\bq[0-9a-z]{20}\b`).FindString(stderr)
	}
	approve := func(id string, flags ...string) {
		t.Helper()
		c := d.terminal(append([]string{"approvals", "approve", id}, flags...)...)
		c.expect(`migrate|dated`)
		c.typing(c.expect(`type (\w+) and press Enter: `)[1] + "\r")
		c.expect(`The changes are made; 'tongs undo c_\w+' undoes them`)
		if code := c.exit(); code != 0 {
			t.Fatalf("exit %d\n%s", code, c.screen())
		}
	}
	id := ask("./migrate.sh")
	if id != ask("./migrate.sh") {
		t.Error("the same changes are another question")
	}
	for _, wrong := range [][]string{{"--scope", "session"}, {"--args", `{"command":"true"}`}, {"--keep", "nowhere"}} {
		c := d.terminal(append([]string{"approvals", "approve", id}, wrong...)...)
		if code := c.exit(); code == 0 {
			t.Errorf("%q is accepted\n%s", wrong, c.screen())
		}
	}
	approve(id, "--keep", "./a.txt", "--keep", "db/")
	if d.read("a.txt") != "two\n" || !d.has("db/1.sql") || !d.has("db/2.sql") || d.has(".envrc") || !d.has("old.txt") {
		t.Error("what holds is not what was kept")
	}

	// The same call returns what that run returned, once, and runs again the next time.
	if stdout, stderr, code := d.run("call", "shell", "--session", "s1", "command=./migrate.sh"); code != 0 || !strings.Contains(stdout, "migrated") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	if next := ask("./migrate.sh"); next == id {
		t.Error("the result is returned twice")
	}

	// What would differ in another run is kept as it was shown.
	d.script("dated.sh", "date +%s%N > a.txt\n")
	id = ask("./dated.sh")
	if again := ask("./dated.sh"); again != id {
		t.Errorf("asked as %s and %s", id, again)
	}
	approve(id)
	made := d.read("a.txt")
	if _, stderr, code := d.run("call", "shell", "--session", "s1", "command=./dated.sh"); code != 0 || len(made) < 18 || d.read("a.txt") != made {
		t.Errorf("exit %d: %s; a.txt %q, then %q", code, stderr, made, d.read("a.txt"))
	}
}
