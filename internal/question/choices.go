package question

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/engine/approval"
)

// Name is what a choice does.
type Name string

// The choices, in the order in which they are shown.
const (
	Yes Name = "yes"
	// Same approves the same for the session, Files the same on every file of the workspace.
	Same  Name = "same"
	Files Name = "files"
	// Always approves the same from now on, with a rule that a person sees and may edit.
	Always Name = "always"
	// Keep keeps some of the changes that a call made on a copy.
	Keep Name = "keep"
	// Change approves other arguments.
	Change Name = "change"
	No     Name = "no"
	// Details shows everything.
	Details Name = "details"
)

// Choice is something that a person can answer.
type Choice struct {
	Name  Name   `json:"name"`
	Key   string `json:"key"`
	Label string `json:"label"`
	// Scope and Remember are those of the answer.
	Scope    approval.Scope `json:"scope,omitempty"`
	Remember []string       `json:"remember,omitempty"`
}

// Answer is the answer that the choice stands for, where it needs nothing more of the person.
func (c Choice) Answer() approval.Answer {
	return approval.Answer{Approved: c.Name != No, Scope: c.Scope, Remember: c.Remember}
}

// Choice returns a choice by its name, false where it is not on offer.
func (p *Parts) Choice(name Name) (Choice, bool) {
	i := slices.IndexFunc(p.Choices, func(c Choice) bool { return c.Name == name })
	if i < 0 {
		return Choice{}, false
	}
	return p.Choices[i], true
}

func choices(q *approval.Question) (list []Choice) {
	add := func(c Choice) { list = append(list, c) }
	if q.ChangeCount > 0 {
		keep := "keep it"
		if q.ChangeCount > 1 {
			keep = fmt.Sprintf("keep all %d", q.ChangeCount)
		}
		add(Choice{Name: Yes, Key: "y", Label: keep, Scope: approval.Once})
		if slices.Contains(q.Scopes, approval.Session) {
			add(Choice{Name: Same, Key: "s", Label: keep + ", and local git in this repository, this session", Scope: approval.Session})
		}
		if q.ChangeCount > 1 {
			add(Choice{Name: Keep, Key: "k", Label: "keep some…", Scope: approval.Once})
		}
		add(Choice{Name: No, Key: "n", Label: "drop all, because…"})
		add(Choice{Name: Details, Key: "?", Label: "details"})
		return list
	}
	add(Choice{Name: Yes, Key: "y", Label: "yes", Scope: approval.Once})
	if slices.Contains(q.Scopes, approval.Session) && len(q.Remember) > 0 {
		add(Choice{Name: Same, Key: "s", Label: same(q) + ", this session", Scope: approval.Session})
		if len(q.RememberFiles) > 0 {
			every := "every file"
			if q.Tool == "edit" || q.Tool == "write_file" {
				every = "all edits"
			}
			add(Choice{Name: Files, Key: "S", Label: every + ", this session", Scope: approval.Session, Remember: q.RememberFiles})
		}
	}
	if slices.Contains(q.Scopes, approval.Always) && len(q.Remember) > 0 {
		add(Choice{Name: Always, Key: "a", Label: "always…", Scope: approval.Always, Remember: q.Remember})
	}
	add(Choice{Name: Change, Key: "e", Label: "change…", Scope: approval.Once})
	add(Choice{Name: No, Key: "n", Label: "no, because…"})
	add(Choice{Name: Details, Key: "?", Label: "details"})
	return list
}

// same says what an approval for the session would be for.
func same(q *approval.Question) string {
	kinds, targets := map[string]bool{}, map[string]bool{}
	for _, line := range q.Remember {
		kind, target, _ := strings.Cut(line, " ")
		if kind == "read" || kind == "write" {
			kind = "file"
		}
		kinds[kind], targets[target] = true, true
	}
	word := map[string]string{"file": "file", "execute": "command", "network": "host"}
	for kind := range kinds {
		switch {
		case len(kinds) > 1 || word[kind] == "":
		case len(targets) == 1 && slices.ContainsFunc(q.Remember, func(line string) bool { return strings.HasSuffix(line, "(unknown)") }):
			return "this tool"
		case len(targets) == 1:
			return "this " + word[kind]
		default:
			return "these " + word[kind] + "s"
		}
	}
	return "exactly this"
}
