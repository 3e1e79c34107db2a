package launch

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

// fill sets every field of a value to something, so that a field that is not encoded shows.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		s := reflect.MakeSlice(v.Type(), 2, 2)
		for i := range 2 {
			fill(s.Index(i))
		}
		v.Set(s)
	case reflect.String:
		v.SetString(string(rune('a' + rand.IntN(26))))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + rand.Int64N(1000))
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(1 + rand.Uint64N(200))
	default:
		panic(v.Kind())
	}
}

func TestMessagesComeOutAsTheyWentIn(t *testing.T) {
	spec := &Spec{}
	fill(reflect.ValueOf(spec).Elem())
	if got, err := DecodeSpec(spec.Encode()); err != nil || !reflect.DeepEqual(got, spec) {
		t.Errorf("%v\n%+v\n%+v", err, got, spec)
	}
	if got, err := DecodeSpec((&Spec{}).Encode()); err != nil || !reflect.DeepEqual(got, &Spec{}) {
		t.Errorf("%v %+v", err, got)
	}
	req := &Request{}
	fill(reflect.ValueOf(req).Elem())
	if got, err := decodeRequest(req.Encode()); err != nil || !reflect.DeepEqual(got, req) {
		t.Errorf("%v\n%+v\n%+v", err, got, req)
	}
	rep := &Reply{}
	fill(reflect.ValueOf(rep).Elem())
	if got, err := DecodeReply(rep.encode()); err != nil || !reflect.DeepEqual(got, rep) {
		t.Errorf("%v\n%+v\n%+v", err, got, rep)
	}
	done := &Done{}
	fill(reflect.ValueOf(done).Elem())
	if got, err := DecodeDone(done.Encode()); err != nil || !reflect.DeepEqual(got, done) {
		t.Errorf("%v\n%+v\n%+v", err, got, done)
	}
	started := &Started{Missing: []string{"a", "b"}}
	if got, err := DecodeStarted(started.Encode()); err != nil || !reflect.DeepEqual(got, started) {
		t.Errorf("%v %+v", err, got)
	}
}

// Bytes of any kind are refused or read, and never cost more memory than they take.
func FuzzDecode(f *testing.F) {
	spec := &Spec{}
	fill(reflect.ValueOf(spec).Elem())
	f.Add(spec.Encode())
	f.Add([]byte{})
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := DecodeSpec(b); err == nil {
			if again, err := DecodeSpec(s.Encode()); err != nil || !reflect.DeepEqual(s, again) {
				t.Errorf("%+v is not read back: %+v %v", s, again, err)
			}
		}
		_, _ = decodeRequest(b)
		_, _ = DecodeReply(b)
		_, _ = DecodeDone(b)
		_, _ = DecodeStarted(b)
	})
}

func TestProcesses(t *testing.T) {
	self, ok := statOf(os.Getpid())
	if !ok || self.parent != os.Getppid() || self.rss == 0 || self.threads == 0 || startTime(os.Getpid()) != self.start {
		t.Errorf("%+v %v", self, ok)
	}
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if kids := children(os.Getpid()); len(kids) != 1 || kids[0] != p.Pid {
		t.Errorf("children: %v", kids)
	}
	if kids := childrenByParent(os.Getpid()); len(kids) != 1 || kids[0] != p.Pid {
		t.Errorf("children by parent: %v", kids)
	}
	mark := processMark(p.Pid)
	if abandoned(mark + "-1") {
		t.Error("a process that lives counts as gone")
	}
	_ = p.Kill()
	_, _ = p.Wait()
	if !abandoned(mark + "-1") {
		t.Error("a process that is gone counts as alive")
	}
	if abandoned("nonsense") || abandoned("") {
		t.Error("names that are not ours count as abandoned")
	}
}

func TestLookingUpPrograms(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"prog": 0o755, "data": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"A=b", "PATH=relative::" + dir}
	if got, err := lookPath("prog", env); err != nil || got != filepath.Join(dir, "prog") {
		t.Errorf("%s %v", got, err)
	}
	for _, name := range []string{"data", "dir", "none", ""} {
		if got, err := lookPath(name, env); err == nil {
			t.Errorf("%q: %s", name, got)
		}
	}
}

// A message that carries descriptors arrives with them, however it is cut up on the way.
func TestDescriptorsTravel(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 1<<20)
	go func() {
		c := conn{pair[0]}
		_ = c.write(MsgTrees, nil, 0, 1, 2)
		_ = c.write(MsgSpec, large)
		_ = unix.Close(pair[0])
	}()
	c := conn{pair[1]}
	if kind, payload, fds, err := c.read(); err != nil || kind != MsgTrees || len(payload) != 0 || len(fds) != 3 {
		t.Errorf("%c %d %v %v", kind, len(payload), fds, err)
	}
	if kind, payload, fds, err := c.read(); err != nil || kind != MsgSpec || len(payload) != len(large) || len(fds) != 0 {
		t.Errorf("%c %d %v %v", kind, len(payload), fds, err)
	}
	if _, _, _, err := c.read(); err == nil {
		t.Error("the end is not seen")
	}
}

// What dead keepers left is removed; what is in use, though its keeper cannot be seen, is not.
func TestScratchDirectories(t *testing.T) {
	parent := t.TempDir()
	dead, used := filepath.Join(parent, scratchPrefix+"1-1-x"), filepath.Join(parent, scratchPrefix+"1-1-y")
	for _, d := range []string{dead + "/deep", used, filepath.Join(parent, "other")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	held, err := lockScratch(used)
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{mark: processMark(os.Getpid()), swept: map[string]bool{}}
	s, err := k.makeScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{dead: false, used: true, filepath.Join(parent, "other"): true, s.dir: true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	s.remove()
	held.remove()
	if entries, _ := os.ReadDir(parent); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}
