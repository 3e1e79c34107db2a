package engine

import (
	"maps"

	"github.com/tongs-ai/tongs"
)

// LastResults returns the newest result of each tool that was called, by the tool's name, whichever session called it. Results are
// those of this engine, not of others over the same state.
func (e *Engine) LastResults() map[string]*tongs.Result {
	all := map[string]*tongs.Result{}
	e.last.Range(func(name, res any) bool {
		all[name.(string)] = copied(res.(*tongs.Result))
		return true
	})
	return all
}

// keepLast keeps a result as the newest of its tool; spec is nil where the call named none that there is.
func (e *Engine) keepLast(spec *tongs.Spec, res *tongs.Result) {
	if spec != nil {
		e.last.Store(spec.Name, copied(res))
	}
}

// copied is a result that its owner may change.
func copied(res *tongs.Result) *tongs.Result {
	own := *res
	own.Metadata = maps.Clone(res.Metadata)
	return &own
}
