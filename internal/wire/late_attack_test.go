package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// answerEnv, in the environment of the test binary, makes it a process that approves the question that it names.
const answerEnv = "TONGS_TEST_ANSWER"

// answering is that process. It says when it begins and when it is done.
func answering(question string) int {
	st, err := Host{Attended: true}.OpenState()
	if err == nil {
		defer st.Close()
		fmt.Println("begins")
		err = st.Questions.Answer(context.Background(), question, approval.Answer{Approved: true, Channel: "terminal", By: "ada"})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("done")
	return 0
}

// approver starts a process that approves, and returns once it begins.
func (s *site) approver(question string) (*exec.Cmd, *bufio.Reader) {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), answerEnv+"="+question)
	out, err := cmd.StdoutPipe()
	s.ok(err)
	s.ok(cmd.Start())
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "begins\n" {
		s.Fatalf("it said %q, %v", line, err)
	}
	return cmd, lines
}

// Whoever makes approved changes is killed at any moment: they are all made or none is, and the next answer, or the same
// call, brings it to an end, once.
func TestALateYesIsKilled(t *testing.T) {
	const files = 40
	command := fmt.Sprintf("for i in $(seq %d); do date +%%N > f$i; done; rm -r old; date > new", files)
	park := func(t *testing.T) (*site, string) {
		s := newSite(t)
		for i := range files {
			s.write(fmt.Sprintf("f%d", i+1), "old\n")
		}
		s.write("old/sub/f", "old\n")
		s.write("run.sh", command+"\n")
		return s, s.asks(s.shell("sh ./run.sh"))
	}
	s, q := park(t)
	cmd, lines := s.approver(q)
	began := time.Now()
	if line, err := lines.ReadString('\n'); err != nil || line != "done\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
	took := time.Since(began)
	s.ok(cmd.Wait())
	const kills = 12
	made := 0
	for n := range kills {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s, q := park(t)
			before := s.snapshot()
			cmd, _ := s.approver(q)
			time.Sleep(took * time.Duration(n*n) / (kills * kills)) // more of them early, where it is quicker than the first time
			s.ok(cmd.Process.Signal(syscall.SIGKILL))
			_ = cmd.Wait()
			var entries int
			s.journal(func(j *journal.Journal) { // which takes back what was half done
				list, err := j.List(journal.Filter{Session: "s1"})
				s.ok(err)
				entries = len(list)
			})
			all := s.read("new") != "(none)" && s.read("old/sub/f") == "(none)"
			for i := range files {
				all = all && s.read(fmt.Sprintf("f%d", i+1)) != "old\n"
			}
			if now := s.snapshot(); !all && now != before || all != (entries == 1) {
				t.Fatalf("all %t, %d entries, the tree is\n%s", all, entries, now)
			}
			if all {
				made++
			}
			after := s.snapshot()
			if n%2 == 0 { // another answer, or only the same call
				if err := s.answer(q, yesLate); err != nil && !errors.Is(err, approval.ErrAnswered) {
					t.Fatal(err)
				}
			}
			res := s.shell("sh ./run.sh")
			if n%2 == 1 && res.Error != nil && res.Error.Code == tongs.CodeApprovalRequired && !all {
				return // it was killed before the answer was kept
			}
			if res.Error != nil || res.Metadata["recorded"] == nil {
				t.Fatalf("the same call: %v", res.Error)
			}
			if now := s.snapshot(); all && now != after || s.read("new") == "(none)" {
				t.Errorf("made twice, or not at all:\n%s\nbefore:\n%s", now, after)
			}
			s.journal(func(j *journal.Journal) {
				if list, err := j.List(journal.Filter{Session: "s1"}); err != nil || len(list) != 1 {
					t.Errorf("entries %+v, %v", list, err)
				}
			})
		})
	}
	t.Logf("%d of %d were killed after the changes were made, in %s", made, kills, took)
}

// Several people and the same call meet: the changes are made once.
func TestALateYesOfSeveral(t *testing.T) {
	s := newSite(t)
	s.write("f", "old\n")
	q := s.asks(s.shell("date +%N > f"))
	var all sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		all.Go(func() {
			st, err := Host{Attended: true}.OpenState()
			if err == nil {
				defer st.Close()
				err = st.Questions.Answer(t.Context(), q, approval.Answer{Approved: true, Channel: "terminal", By: "ada"})
			}
			errs[i] = err
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, approval.ErrAnswered) {
			t.Error(err)
		}
	}
	s.journal(func(j *journal.Journal) {
		if list, err := j.List(journal.Filter{Session: "s1"}); err != nil || len(list) != 1 || won == 0 {
			t.Errorf("%d entries, %d answers, %v", len(list), won, err)
		}
	})
	if n := s.rows()["ok"]; n != 1 {
		t.Errorf("%d rows", n)
	}
}

// exec runs a statement in the database, as somebody does who can write to it.
func (s *site) exec(sql string, args ...any) {
	s.Helper()
	conn, err := sqlite.OpenConn(s.at("home", "state", "tongs.db"), sqlite.OpenReadWrite)
	s.ok(err)
	defer conn.Close()
	s.ok(sqlitex.Execute(conn, sql, &sqlitex.ExecOptions{Args: args}))
}

// Changes that wait are swapped, edited or brought back after they were made: nothing of that is made.
func TestParkedChangesAttack(t *testing.T) {
	parked := func(s *site) string {
		list, err := filepath.Glob(s.at("home", "state", "journal", "parked", "e_*"))
		if err != nil || len(list) == 0 {
			s.Fatalf("%v, %v", list, err)
		}
		return list[len(list)-1]
	}
	t.Run("swapped", func(t *testing.T) {
		s := newSite(t)
		s.write("f", "old\n")
		s.write("g", "old\n")
		q := s.asks(s.shell("date > f"))
		harmless := parked(s)
		s.asks(s.shell("date > g"))
		s.ok(os.Rename(parked(s), harmless))
		if err := s.answer(q, yesLate); !errors.Is(err, approval.ErrNotMade) || !strings.Contains(err.Error(), "not those that were shown") {
			t.Errorf("answered: %v", err)
		}
		if s.read("f")+s.read("g") != "old\nold\n" {
			t.Errorf("f %q, g %q", s.read("f"), s.read("g"))
		}
	})
	t.Run("rows swapped", func(t *testing.T) {
		s := newSite(t)
		s.write("f", "old\n")
		s.write("g", "old\n")
		q := s.asks(s.shell("date > f"))
		other := s.asks(s.shell("date > g"))
		s.exec("UPDATE parked SET body = (SELECT body FROM parked WHERE question = ?) WHERE question = ?", other, q)
		_ = s.answer(q, yesLate)
		if s.read("f")+s.read("g") != "old\nold\n" {
			t.Errorf("f %q, g %q", s.read("f"), s.read("g"))
		}
	})
	t.Run("replayed", func(t *testing.T) {
		s := newSite(t)
		s.write("f", "old\n")
		q := s.asks(s.shell("date +%N > f"))
		file := parked(s)
		kept, err := os.ReadFile(file)
		s.ok(err)
		s.ok(s.answer(q, yesLate))
		s.write("f", "old\n") // as before
		s.ok(os.WriteFile(file, kept, 0o600))
		if err := s.answer(q, yesLate); !errors.Is(err, approval.ErrAnswered) || s.read("f") != "old\n" {
			t.Errorf("answered again: %v; f %q", err, s.read("f"))
		}
		if res := s.shell("date +%N > f"); res.Metadata["recorded"] == nil || s.read("f") != "old\n" {
			t.Errorf("the same call: %v; f %q", res.Error, s.read("f"))
		}
	})
	t.Run("replayed with the rows of before", func(t *testing.T) {
		s := newSite(t)
		s.write("f", "old\n")
		q := s.asks(s.shell("date +%N > f"))
		file := parked(s)
		kept, err := os.ReadFile(file)
		s.ok(err)
		s.exec("CREATE TABLE before AS SELECT * FROM parked")
		s.ok(s.answer(q, yesLate))
		made := s.read("f")
		s.ok(os.WriteFile(file, kept, 0o600))
		s.exec("DELETE FROM parked")
		s.exec("INSERT INTO parked SELECT * FROM before")
		s.exec("DROP TABLE before")
		_ = s.answer(q, yesLate)
		if s.read("f") != made {
			t.Errorf("f %q, made %q", s.read("f"), made)
		}
	})
	t.Run("a denied one", func(t *testing.T) {
		s := newSite(t)
		s.write("f", "old\n")
		q := s.asks(s.shell("date > f"))
		s.ok(s.answer(q, approval.Answer{}))
		_ = s.answer(q, yesLate)
		if s.parked(0); s.read("f") != "old\n" {
			t.Errorf("f %q", s.read("f"))
		}
	})
}
