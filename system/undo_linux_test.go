package system_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/system"
)

// twins are a workspace whose changes go through the system, and a directory beside it in which the same is done directly.
type twins struct {
	sys          *system.System
	work, direct string
	asked        []approval.Question
	session      string
	count        int
}

// newTwins opens a system with nothing configured, in which a person says yes to everything that is asked.
func newTwins(t *testing.T) *twins {
	t.Helper()
	dir := place(t, "")
	tw := &twins{work: filepath.Join(dir, "work"), direct: filepath.Join(dir, "direct")}
	opt := options(dir)
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		tw.asked = append(tw.asked, q)
		return approval.Answer{Approved: true}, nil
	})}
	tw.sys = open(t, opt)
	t.Cleanup(func() { _ = unlock(dir) })
	return tw
}

// unlock lets everything below a directory be removed.
func unlock(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
}

// begin empties both directories and fills them alike, for a session of its own.
func (tw *twins) begin(fill func(dir string) error) error {
	tw.count++
	tw.session, tw.asked = fmt.Sprintf("s%d", tw.count), nil
	for _, dir := range []string{tw.work, tw.direct} {
		if err := errors.Join(unlock(dir), os.MkdirAll(dir, 0o755)); err != nil {
			return err
		}
		list, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
		if err := fill(dir); err != nil {
			return err
		}
	}
	return nil
}

// call calls a tool in the session.
func (tw *twins) call(tool string, args map[string]any) (*tongs.Result, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	res := tw.sys.Call(context.Background(), &tongs.Call{Tool: tool, Args: data, Session: tw.session})
	if res.Error != nil {
		return res, fmt.Errorf("%s: %w", tool, res.Error)
	}
	return res, nil
}

// user is who runs a script directly, as it sees itself.
const user = 1000

// shell runs a script in both places. It must not be asked about before it ran.
func (tw *twins) shell(script string) error {
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = tw.direct
	// Without the privileges of root, which programs in the sandbox do not have either.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getegid(), Size: 1}},
		Credential:  &syscall.Credential{Uid: user, Gid: user, NoSetGroups: true},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("directly: %w: %s", err, out)
	}
	before := len(tw.asked)
	if _, err := tw.call("shell", map[string]any{"command": script}); err != nil {
		return err
	}
	for _, q := range tw.asked[before:] {
		if q.ChangeCount == 0 {
			return fmt.Errorf("it was asked about before it ran, and ran directly: %s", q.Why)
		}
	}
	return nil
}

// entry is what a tree has at a path.
type entry struct {
	mode    fs.FileMode
	content string // or the target
	time    time.Time
}

// alike reports whether nothing but the time differs.
func (e entry) alike(o entry) bool { return e.mode == o.mode && e.content == o.content }

func (e entry) String() string {
	s := fmt.Sprintf("%v %q", e.mode, e.content)
	if !e.time.IsZero() {
		s += " of " + e.time.UTC().Format(time.RFC3339Nano)
	}
	return s
}

// tree returns everything below a directory, and the mode of the directory itself. Times of files count, those of directories
// and links do not.
func tree(top string) (map[string]entry, error) {
	all := map[string]entry{}
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		is := entry{mode: info.Mode()}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			is.content, err = os.Readlink(path)
		case info.Mode().IsRegular():
			var data []byte
			data, err = os.ReadFile(path)
			is.content, is.time = string(data), info.ModTime()
		}
		all["."+strings.TrimPrefix(path, top)] = is
		return err
	})
	return all, err
}

// keptTime is before which a time was set by the program, and not by the clock.
var keptTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// differences tells how a tree differs from what is wanted. Without start every time counts, otherwise only one that a program
// set on a file that it changed.
func differences(start, want, got map[string]entry) (list []string) {
	for _, path := range slices.Sorted(maps.Keys(want)) {
		w, g := want[path], got[path]
		if start != nil && (w.time.After(keptTime) && g.time.After(keptTime) || w.alike(start[path])) {
			g.time = w.time
		}
		if _, ok := got[path]; !ok {
			list = append(list, fmt.Sprintf("%q is missing: %v", path, w))
		} else if w != g {
			list = append(list, fmt.Sprintf("%q is %v, want %v", path, g, w))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[path]; !ok {
			list = append(list, fmt.Sprintf("%q is there: %v", path, got[path]))
		}
	}
	return list
}

// same fails where a tree is not what is wanted.
func same(what, dir string, start, want map[string]entry) error {
	got, err := tree(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if d := differences(start, want, got); len(d) > 0 {
		return fmt.Errorf("%s, %d paths differ:\n\t%s", what, len(d), strings.Join(d[:min(len(d), 10)], "\n\t"))
	}
	return nil
}

// thereAndBack does something in both places, which must leave the same in both. Then it is undone, which must leave what was
// there, and redone, which must leave what it left, and both once more.
func (tw *twins) thereAndBack(do func() error, undo map[string]any) error {
	before, err := tree(tw.work)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := tree(tw.work)
	if err != nil {
		return err
	}
	want, err := tree(tw.direct)
	if err != nil {
		return err
	}
	if err := same("through the system", tw.work, before, want); err != nil {
		return err
	}
	if len(differences(nil, before, after)) == 0 {
		return nil
	}
	for _, step := range []struct {
		tool string
		args map[string]any
		want map[string]entry
	}{{"undo", undo, before}, {"redo", nil, after}, {"undo", undo, before}, {"redo", nil, after}} {
		asked := len(tw.asked)
		if _, err := tw.call(step.tool, step.args); err != nil {
			return err
		}
		if n := len(tw.asked) - asked; n > 1 {
			return fmt.Errorf("%s asked %d times", step.tool, n)
		}
		if err := same("after "+step.tool, tw.work, nil, step.want); err != nil {
			return err
		}
	}
	return nil
}
