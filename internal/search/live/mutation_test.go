package live_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/regex"
)

// mutator is the name of the environment variable that makes the test binary another process: one that changes files
// when it is told to, and answers when it has done so.
const mutator = "TONGS_TEST_MUTATOR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(mutator); dir != "" {
		mutate(dir, os.Getenv(mutator+"_OUTSIDE"))
		return
	}
	os.Exit(m.Run())
}

// mutate reads a seed a line, does what it leads to and answers with what that was.
func mutate(dir, outside string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		seed, _ := strconv.ParseUint(in.Text(), 10, 64)
		m := &mutation{Rand: rand.New(rand.NewPCG(seed, 1)), dir: dir, outside: outside}
		fmt.Println(m.one())
	}
}

// mutation is one operation. Errors are of no matter: what is not there cannot be moved.
type mutation struct {
	*rand.Rand
	dir, outside string
}

var words = []string{"needle", "NEEDLE", "haystack", "alpha", "beta", "gamma", "käse", "task"}

func (m *mutation) word() string { return words[m.IntN(len(words))] }

func (m *mutation) text() []byte {
	var b strings.Builder
	for range 1 + m.IntN(20) {
		fmt.Fprintf(&b, "%s %s %d\n", m.word(), m.word(), m.IntN(10))
	}
	if m.IntN(30) == 0 {
		b.WriteString("\x00")
	}
	if m.IntN(40) == 0 {
		b.WriteString(strings.Repeat("filler line\n", 3000) + m.word())
	}
	return []byte(b.String())
}

func (m *mutation) sub() string {
	path := m.dir
	for range m.IntN(3) {
		path = filepath.Join(path, "d"+strconv.Itoa(m.IntN(4)))
	}
	return path
}

func (m *mutation) file() string {
	return filepath.Join(m.sub(), "f"+strconv.Itoa(m.IntN(6))+[]string{".go", ".txt", ".log"}[m.IntN(3)])
}

func (m *mutation) one() string {
	kinds := []struct {
		name string
		do   func()
	}{
		{"write", func() { _ = os.WriteFile(m.file(), m.text(), 0o666) }},
		{"append", m.appendTo},
		{"replace", m.replace},
		{"rename over", func() { _ = os.Rename(m.file(), m.file()) }},
		{"rename dir", func() {
			if d := m.sub(); d != m.dir {
				_ = os.Rename(d, filepath.Join(m.sub(), "d"+strconv.Itoa(m.IntN(4))))
			}
		}},
		{"mkdir and file", func() {
			d := filepath.Join(m.sub(), "d"+strconv.Itoa(m.IntN(4)), "d"+strconv.Itoa(m.IntN(4)))
			_ = os.MkdirAll(d, 0o777)
			_ = os.WriteFile(filepath.Join(d, "f1.go"), m.text(), 0o666)
		}},
		{"mkdir race", m.mkdirRace},
		{"hard link in, write outside", m.hardLink},
		{"hard link inside", func() { _ = os.Link(m.file(), m.file()) }},
		{"write through outside link", func() {
			_ = os.WriteFile(filepath.Join(m.outside, "h"+strconv.Itoa(m.IntN(3))), m.text(), 0o666)
		}},
		{"truncate", func() { _ = os.Truncate(m.file(), int64(m.IntN(50))) }},
		{"same size, time restored", m.sameTime},
		{"ignore file", m.ignoreFile},
		{"repository", m.repository},
		{"delete", func() { _ = os.Remove(m.file()) }},
		{"delete dir", func() {
			if d := m.sub(); d != m.dir {
				_ = os.RemoveAll(d)
			}
		}},
		{"chmod", func() { _ = os.Chmod(m.file(), []os.FileMode{0o600, 0o644, 0o444}[m.IntN(3)]) }},
		{"symlink swap", m.symlink},
		{"checkout", m.checkout},
		{"replace directory", m.replaceDir},
		{"touch", func() { _ = os.Chtimes(m.file(), timeOf(m.Int64N(1e9)), timeOf(m.Int64N(1e9))) }},
	}
	k := kinds[m.IntN(len(kinds))]
	k.do()
	return k.name
}

func (m *mutation) appendTo() {
	f, err := os.OpenFile(m.file(), os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(m.text())
}

// replace is what sed -i and editors do.
func (m *mutation) replace() {
	name := m.file()
	tmp := filepath.Join(filepath.Dir(name), []string{".tmp", "tmp.swp"}[m.IntN(2)])
	if os.WriteFile(tmp, m.text(), 0o666) == nil {
		_ = os.Rename(tmp, name)
	}
}

func (m *mutation) mkdirRace() {
	d := filepath.Join(m.sub(), "d"+strconv.Itoa(m.IntN(4)))
	for range 3 {
		_ = os.Mkdir(d, 0o777)
		_ = os.WriteFile(filepath.Join(d, "f1.txt"), m.text(), 0o666)
		if m.IntN(2) == 0 {
			_ = os.RemoveAll(d)
		}
		_ = os.Rename(d, filepath.Join(m.sub(), "d"+strconv.Itoa(m.IntN(4))))
	}
}

func (m *mutation) hardLink() {
	from := filepath.Join(m.outside, "h"+strconv.Itoa(m.IntN(3)))
	if _, err := os.Stat(from); err != nil {
		_ = os.WriteFile(from, m.text(), 0o666)
	}
	to := m.file()
	_ = os.Remove(to)
	_ = os.Link(from, to)
	if m.IntN(2) == 0 {
		_ = os.WriteFile(from, m.text(), 0o666)
	}
}

func (m *mutation) sameTime() {
	name := m.file()
	fi, err := os.Stat(name)
	if err != nil || fi.Size() < 6 {
		return
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	_, _ = f.Write([]byte((m.word() + "      ")[:6]))
	_ = f.Close()
	_ = os.Chtimes(name, fi.ModTime(), fi.ModTime())
}

func (m *mutation) ignoreFile() {
	name := filepath.Join(m.sub(), []string{".gitignore", ".ignore", ".tongsignore"}[m.IntN(3)])
	if m.IntN(3) == 0 {
		_ = os.Remove(name)
		return
	}
	_ = os.WriteFile(name, []byte([]string{"*.log\n", "d1/\n", "*.txt\n!f1.txt\n", "/d2\n", "f*\n!*.go\n", ""}[m.IntN(6)]), 0o666)
}

// repository changes what git ignores elsewhere than in ignore files.
func (m *mutation) repository() {
	git := filepath.Join(m.sub(), ".git")
	switch m.IntN(4) {
	case 0:
		_ = os.RemoveAll(git)
	case 1:
		_ = os.MkdirAll(filepath.Join(git, "info"), 0o777)
		_ = os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o666)
	case 2:
		_ = os.WriteFile(filepath.Join(git, "info", "exclude"), []byte([]string{"f2*\n", "*.go\n", "d3\n"}[m.IntN(3)]), 0o666)
	default:
		_ = os.WriteFile(filepath.Join(m.outside, "ignore"), []byte([]string{"f3*\n", "", "d0\n"}[m.IntN(3)]), 0o666)
	}
}

func (m *mutation) symlink() {
	name := m.file()
	_ = os.Remove(name)
	_ = os.Symlink([]string{m.file(), m.outside, "nowhere"}[m.IntN(3)], name)
}

// replaceDir puts another directory where one was.
func (m *mutation) replaceDir() {
	d := filepath.Join(m.sub(), "d"+strconv.Itoa(m.IntN(4)))
	_ = os.RemoveAll(d)
	switch m.IntN(4) {
	case 0:
		_ = os.Symlink(m.outside, d)
	case 1:
		_ = os.WriteFile(d, m.text(), 0o666)
	default:
		_ = os.Mkdir(d, 0o777)
		_ = os.WriteFile(filepath.Join(d, "f0.go"), m.text(), 0o666)
	}
}

// checkout switches between two commits of a repository in the directory co.
func (m *mutation) checkout() {
	co := filepath.Join(m.dir, "co")
	git := func(args ...string) error {
		cmd := exec.Command("git", append([]string{"-C", co, "-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "gc.auto=0"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+m.outside)
		return cmd.Run()
	}
	if _, err := os.Stat(filepath.Join(co, ".git", "HEAD")); err != nil {
		_ = os.MkdirAll(co, 0o777)
		_ = git("init", "-q", "-b", "one")
		for i := range 20 {
			_ = os.WriteFile(filepath.Join(co, fmt.Sprintf("f%d.go", i)), m.text(), 0o666)
		}
		_ = git("add", ".")
		_ = git("commit", "-qm", "one")
		_ = git("checkout", "-qb", "two")
		for i := range 20 {
			_ = os.MkdirAll(filepath.Join(co, fmt.Sprintf("d%d", i%3)), 0o777)
			_ = os.WriteFile(filepath.Join(co, fmt.Sprintf("d%d/f%d.go", i%3, i)), m.text(), 0o666)
			_ = os.Remove(filepath.Join(co, fmt.Sprintf("f%d.go", i/2*2)))
		}
		_ = os.WriteFile(filepath.Join(co, ".gitignore"), []byte("f7*\n"), 0o666)
		_ = git("add", ".")
		_ = git("commit", "-qm", "two")
	}
	_ = git("checkout", "-qf", []string{"one", "two"}[m.IntN(2)])
}

// another is the process that changes files.
type another struct {
	in  io.Writer
	out *bufio.Scanner
}

func startAnother(b *bench) *another {
	b.Helper()
	exe, err := os.Executable()
	must(b, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), mutator+"="+b.top, mutator+"_OUTSIDE="+b.user.Home)
	in, err := cmd.StdinPipe()
	must(b, err)
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &another{in, bufio.NewScanner(out)}
}

// do lets it do something, and returns what that was.
func (a *another) do(t testing.TB, seed uint64) string {
	t.Helper()
	_, err := fmt.Fprintln(a.in, seed)
	must(t, err)
	if !a.out.Scan() {
		t.Fatal("the other process ended")
	}
	return a.out.Text()
}

// Another process changes files, in every way there is, and after each few changes a search finds what a cold one finds.
func TestMutations(t *testing.T) {
	modes := map[string]live.Options{"strict": {Strict: true}}
	if runtime.GOOS == "linux" {
		modes["events"] = live.Options{}
	}
	for name, opt := range modes {
		t.Run(name, func(t *testing.T) {
			n := 200
			if text := os.Getenv("TONGS_MUTATIONS"); text != "" {
				var err error
				n, err = strconv.Atoi(text)
				must(t, err)
			}
			mutations(t, opt, n, rand.Uint64N(1<<30))
		})
	}
}

func mutations(t *testing.T, opt live.Options, n int, seed uint64) {
	b := newBench(t, opt)
	b.service.SetSettle(20 * time.Millisecond)
	put(t, b.top, map[string]string{"f0.go": "needle", "d0/f0.go": "alpha", "d0/d1/f1.txt": "beta needle", "d1/f2.log": "gamma"})
	st := b.ready()
	if (st.Strict != "") != opt.Strict {
		t.Fatalf("strict: %+v", st)
	}
	other := startAnother(b)
	random := rand.New(rand.NewPCG(seed, 2))
	kinds := map[string]int{}
	var last []string
	for i := range n {
		what := other.do(t, seed+uint64(i))
		kinds[what]++
		if last = append(last, what); len(last) > 5 {
			last = last[1:]
		}
		switch random.IntN(6) {
		case 0, 1:
			continue
		case 2:
			must(t, b.service.Reindex(t.Context(), b.top))
		}
		a := ask{
			pattern: []string{"needle", "alpha.*beta", "käse", "task|gamma", `\d`, "filler", "Needle"}[random.IntN(7)],
			opt:     regex.Options{Fold: random.IntN(3) == 0, Multiline: random.IntN(10) == 0},
			q:       []grep.Query{{}, {Limit: 10}, {Mode: grep.Files}, {Mode: grep.Count}}[random.IntN(4)],
			glob:    []string{"", "", "*.go", "!*.txt"}[random.IntN(4)],
			scope:   1,
		}
		if random.IntN(4) == 0 {
			b.entries()
		} else {
			b.compare(a)
		}
		if t.Failed() {
			t.Fatalf("after %d changes from seed %d, the last of them %q; %+v", i+1, seed, last, b.service.Status())
		}
	}
	t.Logf("seed %d: %v; %+v", seed, kinds, b.service.Status())
}

func timeOf(n int64) time.Time { return time.Unix(n, 0) }
