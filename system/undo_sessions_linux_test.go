package system_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// action is one call of a session, and what it comes to where it is done directly.
type action struct {
	tool   string
	args   map[string]any
	direct func(dir string) error
}

func (a action) String() string { return fmt.Sprintf("%s %v", a.tool, a.args) }

// told is one action on each line.
func told(list []action) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintln(&b, a)
	}
	return b.String()
}

// actions returns the calls of a session that follow from the seed. Those that cannot be made, such as an edit of a directory,
// fail without a change.
func actions(seed uint64) []action {
	r := rand.New(rand.NewPCG(seed, 3))
	list := make([]action, 3+r.IntN(6))
	for i := range list {
		list[i] = newAction(r)
	}
	return list
}

func newAction(r *rand.Rand) action {
	pick := func(names ...[]string) string {
		list := names[r.IntN(len(names))]
		return list[r.IntN(len(list))]
	}
	a, b, text := pick(fileNames, fileNames, dirNames), pick(fileNames, dirNames), fmt.Sprintf("text %d\n", r.IntN(9))
	switch r.IntN(6) {
	case 0:
		return action{"write_file", map[string]any{"path": a, "content": text}, func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, a)), 0o755), replace(filepath.Join(dir, a), text))
		}}
	case 1:
		return action{"edit", map[string]any{"path": a, "oldString": "line", "newString": "edited line", "replaceAll": true}, func(dir string) error {
			data, err := os.ReadFile(filepath.Join(dir, a))
			return errors.Join(err, replace(filepath.Join(dir, a), strings.ReplaceAll(string(data), "line", "edited line")))
		}}
	case 2:
		return action{"move_file", map[string]any{"from": a, "to": b, "overwrite": true}, func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, b)), 0o755), os.Rename(filepath.Join(dir, a), filepath.Join(dir, b)))
		}}
	case 3:
		return action{"delete_file", map[string]any{"path": a, "recursive": true}, func(dir string) error {
			return os.RemoveAll(filepath.Join(dir, a))
		}}
	default:
		text := line(r)
		for hardLink(text) {
			text = line(r)
		}
		return action{tool: "shell", args: map[string]any{"command": script([]string{text})}}
	}
}

// hardLink reports whether a line makes a hard link. It is kept as a separate file, so that a later call that writes to one of
// the names does not do what it does directly.
func hardLink(line string) bool {
	return strings.Contains(line, "ln ") && !strings.Contains(line, "ln -s")
}

// replace puts a file with new content in the place of one, with its mode.
func replace(host, text string) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Lstat(host); err == nil {
		mode = info.Mode()
	}
	return errors.Join(os.WriteFile(host+"~", []byte(text), mode), os.Chmod(host+"~", mode), os.Rename(host+"~", host))
}

// act makes the calls, and does directly what each of them did.
func (tw *twins) act(list []action) error {
	for _, a := range list {
		if a.direct == nil {
			if err := tw.shell(a.args["command"].(string)); err != nil {
				return err
			}
			continue
		}
		before, err := tree(tw.work)
		if err != nil {
			return err
		}
		if _, err := tw.call(a.tool, a.args); err != nil {
			if err := same("after a refused "+a.tool, tw.work, nil, before); err != nil {
				return err
			}
			continue
		}
		if err := a.direct(tw.direct); err != nil {
			return fmt.Errorf("%v, done directly: %w", a, err)
		}
	}
	return nil
}

// TestUndoOfSessions makes the calls of sessions that follow from a seed, and takes each session back as a whole.
func TestUndoOfSessions(t *testing.T) {
	tw := newTwins(t)
	first, end := rounds(t, 12)
	failed := 0
	for seed := first; seed < end && failed < 5; seed++ {
		try := func(list []action) error {
			if err := tw.begin(plant(seed)); err != nil {
				t.Fatal(err)
			}
			return tw.thereAndBack(func() error { return tw.act(list) }, map[string]any{"session": tw.session})
		}
		if try(actions(seed)) != nil {
			list, err := smallest(actions(seed), try)
			t.Errorf("TONGS_UNDO_FIRST=%d: %v\n--- calls\n%s", seed, err, told(list))
			failed++
		}
	}
}
