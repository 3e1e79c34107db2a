package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// Edit is what a person changed in one argument of a call. An argument that was or is not there is null.
type Edit struct {
	Argument string          `json:"argument"`
	From     json.RawMessage `json:"from,omitempty"`
	To       json.RawMessage `json:"to,omitempty"`
}

// maxEdited is how much is told of a value before and after.
const maxEdited = 120

// String says it in words: path from "a" to "b".
func (e Edit) String() string {
	switch from, to := brief(e.From), brief(e.To); {
	case e.From == nil:
		return fmt.Sprintf("%s to %s, which was not given", e.Argument, to)
	case e.To == nil:
		return fmt.Sprintf("%s, which was %s, to nothing", e.Argument, from)
	case len(e.From)+len(e.To) > 2*maxEdited:
		return fmt.Sprintf("%s (%d bytes, now %d)", e.Argument, len(e.From), len(e.To))
	default:
		return fmt.Sprintf("%s from %s to %s", e.Argument, from, to)
	}
}

func brief(raw json.RawMessage) string {
	if len(raw) > maxEdited {
		return fmt.Sprintf("%d bytes", len(raw))
	}
	return string(raw)
}

// edits are what a person changed in the arguments, by name.
func (w *walk) edits() (list []Edit) {
	if w.asked == nil {
		return nil
	}
	var was, is map[string]json.RawMessage
	if json.Unmarshal(w.asked, &was) != nil || json.Unmarshal(w.call.Args, &is) != nil {
		return nil
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if string(was[name]) != string(is[name]) {
			list = append(list, Edit{name, was[name], is[name]})
		}
	}
	return list
}

// ranWith are the arguments that run, where a person changed those that the row was opened with.
func (w *walk) ranWith() json.RawMessage {
	if w.asked == nil {
		return nil
	}
	return w.call.Args
}

// edit takes arguments that a person wrote for those of the call.
func (w *walk) edit(args json.RawMessage) {
	if w.asked == nil {
		w.asked = w.call.Args
	}
	w.call.Args = args
	w.decision.notes = append(slices.Clip(w.decision.notes), "the arguments were edited by the person who approved the call")
}

// tellEdited adds to a result what a person changed.
func (w *walk) tellEdited(res *tongs.Result) {
	list := w.edits()
	if len(list) == 0 {
		return
	}
	var say []string
	for _, e := range list {
		say = append(say, programoutput.Plain(e.String()))
	}
	res.Content = programoutput.Remark(res.Content, "a person changed "+strings.Join(say, "; "))
	res.SetMeta("edited", list)
}

// maxSpelled is how long arguments may be that an error spells out.
const maxSpelled = 4 << 10

// withEdited says which arguments an approval that is still missing is for: with those of the call nobody would find it.
func (w *walk) withEdited(err error) error {
	e, ok := err.(*tongs.Error)
	if !ok || w.asked == nil || e.Code != tongs.CodeApprovalRequired || len(w.call.Args) > maxSpelled {
		return err
	}
	e.Message = strings.TrimSuffix(e.Message, ".") + ". A person changed the arguments, so make it with these: " + string(w.call.Args)
	return err
}
