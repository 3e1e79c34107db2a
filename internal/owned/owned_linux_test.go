package owned_test

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/owned"
)

// The users of the tests: somebody without privileges, and somebody else.
const nobody, stranger = 65534, 4321

// readIt makes this program read a file as [owned.ReadFile] does and end.
const readIt = "TONGS_TEST_READ"

func TestMain(m *testing.M) {
	if path := os.Getenv(readIt); path != "" {
		data, err := owned.ReadFile(path, owned.User(), 1000)
		if err != nil {
			data = []byte(err.Error())
		}
		_, _ = os.Stdout.Write(data)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// place is a directory with the file a/b/config.yaml, all of one user.
type place struct {
	t    *testing.T
	dir  string
	user int
}

func newPlace(t *testing.T, user int) *place {
	p := &place{t, t.TempDir(), user}
	p.must(os.Chmod(filepath.Dir(p.dir), 0o755))
	p.must(os.MkdirAll(p.at("a/b"), 0o755))
	p.must(os.WriteFile(p.file(), []byte("good"), 0o644))
	for _, name := range []string{"", "a", "a/b", "a/b/config.yaml"} {
		p.must(os.Chmod(p.at(name), map[bool]os.FileMode{true: 0o644, false: 0o755}[strings.HasSuffix(name, ".yaml")]))
		p.give(name, user)
	}
	return p
}

func (p *place) at(name string) string { return filepath.Join(p.dir, name) }
func (p *place) file() string          { return p.at("a/b/config.yaml") }

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// give makes a file somebody's, which needs root unless it is ours.
func (p *place) give(name string, uid int) {
	p.t.Helper()
	switch {
	case os.Geteuid() == 0:
	case uid == os.Geteuid():
		return
	default:
		p.t.Skip("only root can give files away")
	}
	p.must(os.Lchown(p.at(name), uid, uid))
}

// put makes another file of the user's.
func (p *place) put(name, text string) {
	p.t.Helper()
	p.must(os.MkdirAll(filepath.Dir(p.at(name)), 0o755))
	p.give(filepath.Dir(name), p.user)
	p.must(os.WriteFile(p.at(name), []byte(text), 0o644))
	p.give(name, p.user)
}

func (p *place) link(target, name string) {
	p.t.Helper()
	p.must(os.RemoveAll(p.at(name)))
	p.must(os.Symlink(target, p.at(name)))
	p.give(name, p.user)
}

// access gives another user an entry in the access list of a file, which shows as the mode of its group.
func (p *place) access(name string, uid uint32) {
	list := []byte{2, 0, 0, 0}
	for _, e := range [][3]uint32{{1, 6, ^uint32(0)}, {2, 6, uid}, {4, 4, ^uint32(0)}, {16, 6, ^uint32(0)}, {32, 4, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	err := unix.Setxattr(p.at(name), "system.posix_acl_access", list, 0)
	if errors.Is(err, unix.EOPNOTSUPP) {
		p.t.Skip("this file system has no access lists")
	}
	p.must(err)
}

// attacks are what somebody did to the way to the file, and what is said about it; empty means that it is read.
var attacks = map[string]struct {
	do   func(p *place)
	want string
}{
	"as it should be":          {func(*place) {}, ""},
	"root's file":              {func(p *place) { p.give("a/b/config.yaml", 0) }, ""},
	"a stranger's file":        {func(p *place) { p.give("a/b/config.yaml", stranger) }, "config.yaml is owned by user 4321 (mode 0644)"},
	"writable by everybody":    {func(p *place) { p.must(os.Chmod(p.file(), 0o666)) }, "is writable by others: by everybody (mode 0666)"},
	"an open directory":        {func(p *place) { p.must(os.Chmod(p.at("a/b"), 0o777)) }, "a/b is writable by others"},
	"an open directory above":  {func(p *place) { p.must(os.Chmod(p.at("a"), 0o777)) }, "a is writable by others"},
	"a stranger's directory":   {func(p *place) { p.give("a/b", stranger) }, "a/b is owned by user 4321"},
	"a stranger's above":       {func(p *place) { p.give("a", stranger) }, "/a is owned by user 4321"},
	"a group of others":        {func(p *place) { p.group("a/b/config.yaml", 0o664) }, "by the group 4321 (mode 0664)"},
	"a directory of a group":   {func(p *place) { p.group("a", 0o775) }, "by the group 4321 (mode 0775)"},
	"an access list":           {func(p *place) { p.access("a/b/config.yaml", stranger) }, "is writable by others"},
	"removed by whoever could": {func(p *place) { p.must(errors.Join(os.Remove(p.file()), os.Chmod(p.at("a"), 0o777))) }, "is writable by others"},
	"below a sticky directory": {func(p *place) { p.must(os.Chmod(p.at("a"), 0o777|os.ModeSticky)) }, ""},
	"a stranger's in a sticky": {func(p *place) { p.must(os.Chmod(p.at("a"), 0o777|os.ModeSticky)); p.give("a/b", stranger) }, "is owned by user 4321"},
	"another name in a sticky": {func(p *place) { p.sticky("a/b"); p.must(os.Link(p.file(), p.at("other"))) }, "has another name"},
	"a sticky stranger's":      {func(p *place) { p.sticky("a/b"); p.give("a/b", stranger) }, "is owned by user 4321"},
	"a link":                   {func(p *place) { p.put("c/x", "good"); p.link("../../c/x", "a/b/config.yaml") }, ""},
	"a linked directory":       {func(p *place) { p.put("c/config.yaml", "good"); p.link(p.at("c"), "a/b") }, ""},
	"a stranger's link": {func(p *place) {
		p.put("c/x", "good")
		p.link("../../c/x", "a/b/config.yaml")
		p.give("a/b/config.yaml", stranger)
	}, "is owned by user 4321"},
	"a link into an open one": {func(p *place) {
		p.put("c/x", "bad")
		p.must(os.Chmod(p.at("c"), 0o777))
		p.link("../../c/x", "a/b/config.yaml")
	}, "/c is writable"},
	"a link to a stranger's": {func(p *place) { p.put("c/x", "bad"); p.give("c", stranger); p.link("../../c/x", "a/b/config.yaml") }, "/c is owned by user 4321"},
	"through and out again": {func(p *place) {
		p.put("c/x", "")
		p.must(os.Chmod(p.at("c"), 0o777))
		p.put("d/x", "bad")
		p.link("../../c/../d/x", "a/b/config.yaml")
	}, "/c is writable"},
	"a link to nothing": {func(p *place) { p.link("../nothing", "a/b/config.yaml") }, "does not exist, and a link leads to it"},
	"links without end": {func(p *place) { p.link("config.yaml", "a/b/config.yaml") }, "too many levels"},
	"a pipe": {func(p *place) {
		p.must(os.Remove(p.file()))
		p.must(unix.Mkfifo(p.file(), 0o644))
		p.give("a/b/config.yaml", p.user)
	}, "not a regular file"},
	"a directory":            {func(p *place) { p.must(os.Remove(p.file())); p.put("a/b/config.yaml/x", "") }, "not a regular file"},
	"a file for a directory": {func(p *place) { p.must(os.RemoveAll(p.at("a"))); p.put("a", "") }, "not a directory"},
}

func (p *place) group(name string, mode os.FileMode) {
	p.t.Helper()
	if os.Geteuid() != 0 {
		p.t.Skip("only root can give files to any group")
	}
	p.must(errors.Join(os.Lchown(p.at(name), -1, stranger), os.Chmod(p.at(name), mode)))
}

func (p *place) sticky(name string) {
	p.must(os.Chmod(p.at(name), 0o777|os.ModeSticky))
}

func TestOnlyTheOwnersFilesAreRead(t *testing.T) {
	for _, user := range users() {
		for name, attack := range attacks {
			t.Run(map[bool]string{true: "root", false: "unprivileged"}[user == 0]+"/"+name, func(t *testing.T) {
				p := newPlace(t, user)
				attack.do(p)
				as(t, user, func() {
					data, err := owned.ReadFile(p.file(), user, 1000)
					switch {
					case attack.want == "" && (err != nil || string(data) != "good"):
						t.Errorf("%q, %v", data, err)
					case attack.want != "" && (err == nil || !strings.Contains(err.Error(), attack.want)):
						t.Errorf("%q, %v; want %s", data, err, attack.want)
					case attack.want != "" && errors.Is(err, fs.ErrNotExist):
						t.Errorf("%v counts as absent", err)
					}
				})
			})
		}
	}
}

func users() []int {
	if os.Geteuid() == 0 {
		return []int{0, nobody}
	}
	return []int{os.Geteuid()}
}

// as runs a test as a user, on a thread that ends with it.
func as(t *testing.T, uid int, test func()) {
	if uid == os.Geteuid() {
		test()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread is thrown away
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			t.Errorf("cannot drop privileges: %v", errno)
			return
		}
		test()
	}()
	<-done
}

func TestAbsentIsAbsent(t *testing.T) {
	p := newPlace(t, os.Geteuid())
	for _, name := range []string{"a/b/none", "a/none/config.yaml", "none/none/none"} {
		if _, err := owned.ReadFile(p.at(name), p.user, 10); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if err := owned.Check(p.at(name), p.user); err != nil {
			t.Errorf("Check(%s): %v", name, err)
		}
	}
	if _, err := owned.ReadFile(p.file(), p.user, 3); err == nil {
		t.Error("a file that is too large is read")
	}
}

// What is read is what was checked, however often the name is given to another file meanwhile.
func TestAFileThatIsSwappedIsNeverRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	p := newPlace(t, 0)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for text, uid := range map[string]int{"evil": stranger, "good": 0} {
				name := p.at("a/b/next")
				_ = os.WriteFile(name, []byte(text), 0o644)
				_ = os.Chown(name, uid, uid)
				_ = os.Rename(name, p.file())
			}
		}
	}()
	good := 0
	for range 3000 {
		data, err := owned.ReadFile(p.file(), 0, 100)
		if err == nil && string(data) != "good" {
			t.Fatalf("read %q", data)
		}
		if err == nil {
			good++
		}
	}
	close(stop)
	<-ended
	if good == 0 {
		t.Error("the good file was never read: nothing was tried")
	}
}

func TestMakeDir(t *testing.T) {
	for _, user := range users() {
		p := newPlace(t, user)
		as(t, user, func() {
			f, err := owned.MakeDir(p.at("a/b/x/y"))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if _, err := owned.MakeDir(p.file()); err == nil {
				t.Error("a file passes for a directory")
			}
		})
		p.must(os.Chmod(p.at("a"), 0o777))
		as(t, user, func() {
			if _, err := owned.MakeDir(p.at("a/b/z")); err == nil {
				t.Error("a directory is made where others can replace it")
			}
		})
		if _, err := os.Stat(p.at("a/b/z")); err == nil {
			t.Error("it was made nevertheless")
		}
		p.must(os.Chmod(p.at("a"), 0o755))
		p.sticky("a/b")
		as(t, user, func() {
			if _, err := owned.MakeDir(p.at("a/b")); err == nil {
				t.Error("a directory that others can write into is taken")
			}
		})
	}
}

// In a user namespace that does not know root, its directories belong to nobody that can be told. They are passed
// through; a file of an unknown owner is not read.
func TestInAUserNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	p := newPlace(t, stranger)
	p.give("a", 0)
	exe := filepath.Join(t.TempDir(), "test")
	p.must(os.Chmod(filepath.Dir(exe), 0o755))
	p.must(os.Chmod(filepath.Dir(filepath.Dir(exe)), 0o755))
	self, err := os.ReadFile("/proc/self/exe")
	p.must(err)
	p.must(os.WriteFile(exe, self, 0o755))
	read := func() string {
		cmd := exec.Command(exe)
		cmd.Env = []string{readIt + "=" + p.file()}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: stranger, HostID: stranger, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: stranger, HostID: stranger, Size: 1}},
			Credential:  &syscall.Credential{Uid: stranger, Gid: stranger, NoSetGroups: true},
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := read(); got != "good" {
		t.Errorf("read %q", got)
	}
	p.give("a/b/config.yaml", 0)
	if got := read(); !strings.Contains(got, "is owned by user 65534") {
		t.Errorf("read %q", got)
	}
	p.give("a/b/config.yaml", stranger)
	p.must(os.Chmod(p.at("a"), 0o777))
	if got := read(); !strings.Contains(got, "is writable by others") {
		t.Errorf("read %q", got)
	}
}
