package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/state/sessions"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/worker"
)

func open(t testing.TB, dir string) *sessions.DB {
	t.Helper()
	db, err := sessions.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func session(id, root, parent string, at int64) worker.Session {
	return worker.Session{
		ID: id, Root: root, Parent: parent, Log: root, Worker: "w" + id, Agents: []string{"w"}, Workspace: "/ws", State: worker.Done,
		Started: time.Unix(at, 0).UTC(), Updated: time.Unix(at, 0).UTC(), Usage: model.Usage{Input: 5},
	}
}

func entry(seq int, text string) worker.Entry {
	return worker.Entry{Seq: seq, At: time.Unix(int64(seq), 0).UTC(), Message: model.Message{Role: model.User, Parts: []model.Part{{Text: text}}}}
}

func ids(list []worker.Session) (out []string) {
	for _, s := range list {
		out = append(out, s.ID)
	}
	return out
}

// Both stores keep the same promises.
func TestStores(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) worker.Store{
		"memory": func(*testing.T) worker.Store { return &worker.Memory{} },
		"sqlite": func(t *testing.T) worker.Store { return open(t, t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			db, ctx := open(t), t.Context()
			a, child, b := session("a", "a", "", 10), session("c", "a", "a", 40), session("b", "b", "", 20)
			for _, s := range []worker.Session{a, b, child} {
				if err := db.Save(ctx, s, entry(1, "one "+s.ID), entry(2, "two")); err != nil {
					t.Fatal(err)
				}
			}
			a.State, a.Updated = worker.Limited, time.Unix(30, 0).UTC()
			if err := db.Save(ctx, a, entry(3, "three")); err != nil {
				t.Fatal(err)
			}
			got, entries, err := db.Load(ctx, "a", 0)
			if err != nil || !reflect.DeepEqual(*got, a) || len(entries) != 3 || !reflect.DeepEqual(entries[0], entry(1, "one a")) {
				t.Errorf("%+v, %+v, %v", got, entries, err)
			}
			if _, entries, _ := db.Load(ctx, "a", 3); len(entries) != 1 || entries[0].Seq != 3 {
				t.Errorf("from 3: %+v", entries)
			}
			if _, _, err := db.Load(ctx, "none", 0); !errors.Is(err, worker.ErrNoSession) {
				t.Error(err)
			}
			for _, c := range []struct {
				filter worker.Filter
				want   []string
			}{
				{worker.Filter{}, []string{"c", "a", "b"}},
				{worker.Filter{Outermost: true}, []string{"a", "b"}},
				{worker.Filter{Root: "a"}, []string{"c", "a"}},
				{worker.Filter{Worker: "wb"}, []string{"b"}},
				{worker.Filter{State: worker.Limited}, []string{"a"}},
				{worker.Filter{Workspace: "/other"}, nil},
				{worker.Filter{Limit: 1}, []string{"c"}},
			} {
				if list, err := db.List(ctx, c.filter); err != nil || !reflect.DeepEqual(ids(list), c.want) {
					t.Errorf("%+v: %v, %v", c.filter, ids(list), err)
				}
			}
			// A tree goes as a whole, once nothing in it is young.
			if n, err := db.Prune(ctx, time.Unix(35, 0)); n != 1 || err != nil {
				t.Errorf("pruned %d, %v", n, err)
			}
			if list, _ := db.List(ctx, worker.Filter{}); !reflect.DeepEqual(ids(list), []string{"c", "a"}) {
				t.Errorf("left are %v", ids(list))
			}
			if n, err := db.Prune(ctx, time.Unix(50, 0)); n != 2 || err != nil {
				t.Errorf("pruned %d, %v", n, err)
			}
		})
	}
}

// An entry cannot be written twice, and a save that fails leaves nothing of itself.
func TestSaveIsAllOrNothing(t *testing.T) {
	db := open(t, t.TempDir())
	s := session("a", "a", "", 10)
	if err := db.Save(t.Context(), s, entry(1, "one")); err != nil {
		t.Fatal(err)
	}
	s.State = worker.Failed
	if err := db.Save(t.Context(), s, entry(2, "two"), entry(1, "again")); err == nil {
		t.Error("an entry was written twice")
	}
	if got, entries, err := db.Load(t.Context(), "a", 0); err != nil || got.State != worker.Done || len(entries) != 1 {
		t.Errorf("%+v, %d entries, %v", got, len(entries), err)
	}
}

func TestManyAtATime(t *testing.T) {
	dir := t.TempDir()
	dbs := []*sessions.DB{open(t, dir), open(t, dir)}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 10 {
				if err := dbs[i%2].Save(context.Background(), session(fmt.Sprint("s", i), fmt.Sprint("s", i), "", int64(n)), entry(n+1, "x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range 8 {
		if _, entries, err := dbs[0].Load(t.Context(), fmt.Sprint("s", i), 0); err != nil || len(entries) != 10 {
			t.Errorf("s%d: %d entries, %v", i, len(entries), err)
		}
	}
}

const envVictim = "TEST_SESSIONS_VICTIM"

// TestMain is also the process that is killed in the middle of a session.
func TestMain(m *testing.M) {
	if dir := os.Getenv(envVictim); dir != "" {
		db, err := sessions.Open(dir)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for n := 1; ; n++ {
			if err := db.Save(context.Background(), session("a", "a", "", int64(n)), entry(n, "x")); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("saved")
		}
	}
	os.Exit(m.Run())
}

// What was saved is there after the process was killed, and goes on.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), envVictim+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	n := 0
	for n < 200 { // about thirty are saved by then
		k, err := out.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	db := open(t, dir)
	s, entries, err := db.Load(t.Context(), "a", 0)
	if err != nil || len(entries) < n/len("saved\n") {
		t.Fatalf("%d entries of at least %d, %v", len(entries), n/len("saved\n"), err)
	}
	for i, e := range entries {
		if e.Seq != i+1 {
			t.Errorf("entry %d has the number %d", i, e.Seq)
		}
	}
	if last := entries[len(entries)-1].Seq; s.Updated.Unix() != int64(last) {
		t.Errorf("the session is of entry %d, the last is %d", s.Updated.Unix(), last)
	}
}

func BenchmarkSave(b *testing.B) {
	db := open(b, b.TempDir())
	for n := 1; b.Loop(); n++ {
		if err := db.Save(context.Background(), session("a", "a", "", int64(n)), entry(n, "x")); err != nil {
			b.Fatal(err)
		}
	}
}

func Example() {
	dir, _ := os.MkdirTemp("", "sessions")
	defer os.RemoveAll(dir)
	db, _ := sessions.Open(dir)
	defer db.Close()
	_ = db.Save(context.Background(), worker.Session{ID: "s_1", Root: "s_1", Worker: "reviewer", State: worker.Running, Updated: time.Now()},
		worker.Entry{Seq: 1, Message: model.Message{Role: model.User, Parts: []model.Part{{Text: "review it"}}}})
	list, _ := db.List(context.Background(), worker.Filter{Outermost: true})
	s, entries, _ := db.Load(context.Background(), list[0].ID, 0)
	fmt.Println(s.Worker, s.State, entries[0].Message.Text())
	// Output: reviewer running review it
}
