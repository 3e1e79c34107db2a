package wire

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/module"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
	"github.com/tongs-ai/tongs/mcp/oauth"
)

// approvals are what people approved in earlier runs, as a state directory keeps it. Approved tools, trusted files, grants for
// always and logins are reached through it only, and it alone knows whether they count. The zero value knows of none.
type approvals struct {
	dir string
	// count is set by trust; while it is not, nothing was ever approved.
	count bool
}

// trust returns the approvals of a state directory. They count where a person started the program, where the program itself named
// the directory, and where it is the user's own. Whoever can only choose the environment of a server cannot forge approvals.
func (h Host) trust(dir string) approvals {
	return approvals{dir: dir, count: dir != "" && (h.Attended || h.StateDir != "" || h.ownState(dir))}
}

// ownState reports whether a state directory is that of the user, rather than one that the environment names.
func (h Host) ownState(dir string) bool {
	own, err := config.OwnStateDir(h.Home)
	return err == nil && config.SamePlace(dir, own)
}

// vouched reports whether a person trusted a file with this content. The state file is opened only where it may say so.
func (a approvals) vouched(path, hash string) (bool, error) {
	if !a.count {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(a.dir, state.FileName)); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	db, err := state.Open(a.dir)
	if err != nil {
		return false, err
	}
	defer db.Close()
	known, ok, err := db.Trust().Get(context.Background(), path)
	return ok && known.Hash == hash, err
}

// grants is a book with what was approved for always, where that counts.
func (a approvals) grants(book policy.Book) policy.Book {
	if a.count {
		return book
	}
	return sessionGrants{book}
}

// servers keeps what is known of tool servers, and what was approved of them.
func (a approvals) servers() mcpclient.Store {
	store := mcpclient.Directory(filepath.Join(a.dir, "mcp"))
	if a.count {
		return store
	}
	return unpinned{store}
}

// logins keeps the logins to tool servers, beside what is known of them; nil has none.
func (a approvals) logins() oauth.Store {
	if !a.count {
		return nil
	}
	return oauth.Directory(filepath.Join(a.dir, "mcp", "logins"))
}

// forge are the options of custom tools in a directory.
func (a approvals) forge(dir string) forge.Options {
	return forge.Options{Dir: dir, State: forgeState(a.dir), NoApprovals: !a.count}
}

// modules are the options of modules.
func (a approvals) modules() module.Options {
	return module.Options{State: filepath.Join(a.dir, "modules"), Programs: modulePrograms(a.dir), NoApprovals: !a.count}
}

// sessionGrants is a book without what was approved for always.
type sessionGrants struct{ policy.Book }

// Find implements policy.Book.
func (b sessionGrants) Find(ctx context.Context, key policy.Key) ([]policy.Grant, error) {
	found, err := b.Book.Find(ctx, key)
	return slices.DeleteFunc(found, func(g policy.Grant) bool { return g.Scope == policy.ScopeAlways }), err
}

// unpinned is a store in which nothing is approved.
type unpinned struct{ mcpclient.Store }

// Load implements mcpclient.Store.
func (u unpinned) Load(server, identity string) (*mcpclient.Record, error) {
	r, err := u.Store.Load(server, identity)
	if r != nil {
		r.Approved, r.Program, r.SeenProgram = nil, nil, nil
	}
	return r, err
}
