package state

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/approval/approvaltest"
)

// inFiles reports in which files of the database a text stands.
func inFiles(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, FileName+"*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			found = append(found, filepath.Base(file))
		}
	}
	return found
}

// Whatever happens to a question, no file of the database holds its arguments in clear.
func TestNoQuestionIsKeptInClear(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	db := openDB(t, dir)
	s := db.Questions(approval.Options{})
	const secret = "hUnter2-correct-horse" // of no shape that a redactor could know
	ask := func(digest string) approval.Question {
		q := approvaltest.Question(digest)
		q.Args = json.RawMessage(`{"command":"deploy ` + secret + `","password":"` + secret + `"}`)
		q.Message, q.Reason, q.Preview = "Run deploy "+secret, secret, "+"+secret
		q.Effects = []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"deploy", secret}}}
		opened, err := s.Open(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	clear := func(when string) {
		t.Helper()
		if found := inFiles(t, dir, secret); len(found) > 0 {
			t.Errorf("%s: in clear in %s", when, strings.Join(found, ", "))
		}
	}
	q := ask("d1")
	clear("pending")

	other := openDB(t, dir).Questions(approval.Options{}) // as another process sees it
	if got, err := other.Get(ctx, q.ID); err != nil || !strings.Contains(string(got.Args), secret) {
		t.Errorf("a person is not shown what is asked: %s, %v", got.Args, err)
	}
	if list, err := other.List(ctx, true); err != nil || len(list) != 1 || list[0].Preview != "+"+secret {
		t.Errorf("%+v, %v", list, err)
	}
	edited := json.RawMessage(`{"command":"deploy --now ` + secret + `"}`)
	if err := other.Answer(ctx, q.ID, approval.Answer{Approved: true, Scope: approval.Once, Args: edited, Reason: secret, Channel: "test"}); err != nil {
		t.Fatal(err)
	}
	clear("answered")
	if taken, ok, err := s.Redeem(ctx, "d1", ""); err != nil || !ok || string(taken.Answer.Args) != string(edited) {
		t.Errorf("%+v, %v, %v", taken, ok, err)
	}
}

// A question that was sealed with another key, or was changed, cannot be answered: nobody can be shown what it asks.
func TestAQuestionThatCannotBeOpened(t *testing.T) {
	for name, attack := range map[string]func(t *testing.T, dir string, db *DB){
		"key deleted": func(t *testing.T, dir string, _ *DB) { remove(t, filepath.Join(dir, KeyName)) },
		"body of another question": func(t *testing.T, _ string, db *DB) {
			if _, err := db.Questions(approval.Options{}).Open(t.Context(), approvaltest.Question("other")); err != nil {
				t.Fatal(err)
			}
			tamper(t, db, "UPDATE questions SET body = (SELECT body FROM questions WHERE digest = 'other')")
		},
		"in clear": func(t *testing.T, _ string, db *DB) {
			body, err := json.Marshal(approvaltest.Question("d"))
			if err != nil {
				t.Fatal(err)
			}
			tamper(t, db, "UPDATE questions SET body = ?", body)
		},
		"cut short": func(t *testing.T, _ string, db *DB) { tamper(t, db, "UPDATE questions SET body = CAST('x' AS BLOB)") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db := openDB(t, dir)
			q, err := db.Questions(approval.Options{}).Open(t.Context(), approvaltest.Question("d"))
			if err != nil {
				t.Fatal(err)
			}
			attack(t, dir, db)
			s := openDB(t, dir).Questions(approval.Options{})
			if got, err := s.Get(t.Context(), q.ID); err != nil || got.StateAt(time.Now()) == approval.Pending {
				t.Errorf("%+v, %v", got, err)
			}
			if err := s.Answer(t.Context(), q.ID, approval.Answer{Approved: true, Scope: approval.Once, Channel: "test"}); err == nil {
				t.Error("answered")
			}
			if _, ok, err := s.Redeem(t.Context(), "d", q.ID); ok || err != nil {
				t.Errorf("redeemed: %v, %v", ok, err)
			}
			if _, err := s.Open(t.Context(), approvaltest.Question("d")); err != nil {
				t.Errorf("it cannot be asked again: %v", err)
			}
			if _, err := db.GC(t.Context(), Retention{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheKeyMustBePrivate(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	elsewhere := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(elsewhere, make([]byte, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, KeyName)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Questions(approval.Options{}).Open(t.Context(), approvaltest.Question("d")); err == nil {
		t.Error("sealed with a key that somebody else chose")
	}
}
