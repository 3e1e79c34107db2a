package workspace

import (
	"path"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitdir"
)

// historySecret reports whether reading p reads the history of a repository that tracks a secret. A command that shows
// history which no path limits reads .git of the directory it runs in.
func (w *Workspace) historySecret(p tongs.Path) (why string, ok bool) {
	if path.Base(p.Rel) != ".git" {
		return "", false
	}
	names, err := gitdir.Tracked(filepath.Dir(w.Host(p)))
	if err != nil {
		return "secret: which files the history holds cannot be told: " + err.Error(), true
	}
	for _, name := range names {
		if _, secret := w.Secret(tongs.Path{Rel: name}); secret {
			return "secret: the history holds " + name, true
		}
	}
	return "", false
}
