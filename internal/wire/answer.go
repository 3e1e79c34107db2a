package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/attendance"
	"github.com/tongs-ai/tongs/internal/owned"
)

// PreviewsIn is where the previews are that are too long to stand in a question.
func PreviewsIn(stateDir string) *approval.Previews {
	return &approval.Previews{Dir: filepath.Join(stateDir, "previews")}
}

// AttendanceIn is where it is written down which questions calls wait for.
func AttendanceIn(stateDir string) attendance.Room {
	return attendance.Room{Dir: filepath.Join(stateDir, "waiting")}
}

// sessionsIn is where it is written down which sessions with open questions there are.
func sessionsIn(stateDir string) attendance.Room {
	return attendance.Room{Dir: filepath.Join(stateDir, "sessions-open")}
}

// AddressFile tells other programs of the same user where the console is.
const AddressFile = "console.json"

// Address is what stands in it.
type Address struct {
	URL       string `json:"url"`
	PID       int    `json:"pid"`
	Workspace string `json:"workspace"`
}

// consoleAt is where the console is that runs for this state, false where none does.
func consoleAt(stateDir string) (at Address, ok bool) {
	path := filepath.Join(stateDir, AddressFile)
	data, err := owned.ReadFile(path, owned.User(), 4096)
	info, missing := os.Stat(path)
	ok = err == nil && missing == nil && json.Unmarshal(data, &at) == nil && audit.Alive(at.PID, info.ModTime())
	return at, ok
}

// shortHint is answerHint for a line of progress.
func shortHint(stateDir string) func(q string) string {
	return func(q string) string {
		hint := "tongs approvals approve " + approval.Short(q)
		if at, ok := consoleAt(stateDir); ok {
			hint += " or " + at.URL + "/approvals"
		}
		return hint
	}
}

// answerHint says how a question is answered: at a terminal and, where one runs, in the console.
func answerHint(stateDir string) func(q string) string {
	return func(q string) string {
		at, ok := consoleAt(stateDir)
		if !ok {
			return howToAnswer(q)
		}
		return "A person can answer it at " + at.URL + "/approvals#" + q + ", or with 'tongs approvals approve " + q + "' in a terminal; " +
			"then make the same call again"
	}
}

// howToAnswer is what a refused call says about its question.
func howToAnswer(q string) string {
	return fmt.Sprintf("A person can answer it with 'tongs approvals approve %s' or 'tongs approvals deny %s'; then make the same call again", q, q)
}
