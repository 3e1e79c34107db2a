//lint:file-ignore SA1019 what is deprecated here is what clients of the revisions with sessions speak

package mcpserver

import (
	"context"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
)

// narrowing is what the roots of a client leave of the workspace.
type narrowing struct {
	// whole means all of it.
	whole bool
	zones []tongs.Zone
	// dir is where relative paths are meant from: the only root, where there is one.
	dir string
}

const (
	// askRoots is how long a client may take to tell its roots, maxRoots how many of them count.
	askRoots = 10 * time.Second
	maxRoots = 64
)

// rootsChanged makes the next call ask for the roots again.
func (s *Server) rootsChanged(ss *mcp.ServerSession) {
	s.sessions.mu.Lock()
	sess := s.sessions.conns[ss]
	s.sessions.mu.Unlock()
	if sess != nil {
		sess.mu.Lock()
		sess.roots = nil
		sess.changes++
		sess.mu.Unlock()
	}
}

// callerFor returns the engine as far as the client's roots let the session reach, and the directory of its calls. A
// client that has roots and does not tell them is refused.
func (s *Server) callerFor(ctx context.Context, sess *session, req *mcp.CallToolRequest) (tongs.Caller, string, error) {
	caps := req.ClientCapabilities()
	// Without sessions roots are no longer part of the protocol's flow: a client narrows by the paths it names.
	if s.opt.Files == nil || caps == nil || caps.RootsV2 == nil || req.ProtocolVersion() >= rounds {
		return s.opt.Engine, "", nil
	}
	roots, err := s.rootsOf(ctx, sess, req.Session)
	if err != nil {
		return nil, "", tongs.Errorf(tongs.CodePermissionDenied,
			"the client has roots and did not tell them: %w; without them it is not known where the call may work", err)
	}
	if roots.whole {
		return s.opt.Engine, "", nil
	}
	zones := append(append([]tongs.Zone{}, roots.zones...), s.opt.Zones...)
	return s.opt.Engine.Within(tongs.Scope{Zones: zones}), roots.dir, nil
}

// rootsOf returns what the client's roots come to. It is asked for them once, and again after they changed.
func (s *Server) rootsOf(ctx context.Context, sess *session, client *mcp.ServerSession) (*narrowing, error) {
	sess.asking.Lock() // calls that come meanwhile wait for the same answer
	defer sess.asking.Unlock()
	sess.mu.Lock()
	known, changes := sess.roots, sess.changes
	sess.mu.Unlock()
	if known != nil {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askRoots)
	defer cancel()
	listed, err := client.ListRoots(ctx, nil)
	if err != nil {
		return nil, err
	}
	roots := narrow(s.opt.Files, listed.Roots)
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.changes == changes {
		sess.roots = roots
	}
	return roots, nil
}

// narrow intersects the roots of a client with the workspace. One that is outside adds nothing; no roots at all are no
// word about it.
func narrow(files Files, list []*mcp.Root) *narrowing {
	n := &narrowing{}
	if len(list) == 0 {
		n.whole = true
		return n
	}
	for _, root := range list[:min(len(list), maxRoots)] {
		host, ok := hostPath(root.URI)
		if !ok {
			continue
		}
		if real, err := filepath.EvalSymlinks(host); err == nil {
			host = real
		}
		if rel, err := filepath.Rel(host, files.Dir()); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return &narrowing{whole: true} // the workspace is in it
		}
		p, err := files.Resolve(tongs.Path{Rel: "."}, host)
		if err == nil && p.Root == tongs.WorkspaceRoot {
			n.zones = append(n.zones, tongs.Zone{Path: p, Writable: true})
		}
	}
	if len(list) == 1 && len(n.zones) == 1 {
		n.dir = n.zones[0].Path.String()
	}
	if n.zones == nil {
		n.zones = []tongs.Zone{}
	}
	return n
}

// hostPath is the path that a file URI names on this machine.
func hostPath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", false
	}
	p := u.Path
	if runtime.GOOS == "windows" {
		p = strings.TrimPrefix(p, "/")
	}
	p = filepath.Clean(filepath.FromSlash(p))
	return p, filepath.IsAbs(p)
}
