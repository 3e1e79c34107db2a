package wire

import "github.com/tongs-ai/tongs/internal/gitdir"

// findRepository returns the git repository of a workspace whose files are elsewhere, the zero value for any other.
func findRepository(workspace string) gitdir.Outside {
	r, _ := gitdir.Elsewhere(workspace, gitdir.ThisHost().Homes...)
	return r
}
