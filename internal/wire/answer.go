package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/owned"
)

// PreviewsIn is where the previews are that are too long to stand in a question.
func PreviewsIn(stateDir string) *approval.Previews {
	return &approval.Previews{Dir: filepath.Join(stateDir, "previews")}
}

// AddressFile tells other programs of the same user where the console is.
const AddressFile = "console.json"

// Address is what stands in it.
type Address struct {
	URL       string `json:"url"`
	PID       int    `json:"pid"`
	Workspace string `json:"workspace"`
}

// answerHint says how a question is answered: at a terminal and, where one runs, in the console.
func answerHint(stateDir string) func(q string) string {
	return func(q string) string {
		path := filepath.Join(stateDir, AddressFile)
		var at Address
		data, err := owned.ReadFile(path, owned.User(), 4096)
		info, missing := os.Stat(path)
		if err != nil || missing != nil || json.Unmarshal(data, &at) != nil || !audit.Alive(at.PID, info.ModTime()) {
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
