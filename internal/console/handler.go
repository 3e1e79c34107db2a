package console

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// Handler serves the console, its API, /metrics and /healthz. Requests for /mcp are passed on to mcp, which checks them
// itself; nil leaves it out.
func (s *Server) Handler(mcp http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, p := range s.pages {
		pattern := p.Path
		if pattern == "/" {
			pattern = "/{$}"
		}
		mux.HandleFunc("GET "+pattern, s.servePage(p))
	}
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) { s.render(w, loginPage) })
	mux.HandleFunc("POST /login", s.login)
	mux.Handle("GET "+s.assets.prefix+"/", s.assets)
	mux.HandleFunc("GET /favicon.ico", http.NotFound)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /metrics", s.metrics)
	for _, r := range s.routes {
		mux.HandleFunc(r.method+" "+r.path, s.guarded(r.serve))
	}
	return s.checked(mux, mcp)
}

// checked lets requests through that are for this server, and were not made by another web page.
func (s *Server) checked(next, mcp http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mcp != nil && r.URL.Path == "/mcp" {
			mcp.ServeHTTP(w, r)
			return
		}
		secureHeaders(w.Header())
		reading := r.Method == http.MethodGet || r.Method == http.MethodHead
		data := strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/metrics"
		switch {
		case !s.host(r):
			http.Error(w, "this server does not go by that name; see --allow-host", http.StatusForbidden)
		case (data || !reading) && !ownPage(r):
			http.Error(w, "requests of other web pages are refused", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// guarded lets those through who are logged in.
func (s *Server) guarded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.logins.authorised(r) {
			writeJSON(w, http.StatusUnauthorized, problem{Error: tongs.Errorf(tongs.CodePermissionDenied,
				"not logged in; open the link that 'tongs serve' printed, or make another in a browser that is logged in")})
			return
		}
		next(w, r)
	}
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if s.life.Err() != nil {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("ok\n"))
}

// about is what every page knows.
type about struct {
	Version   string     `json:"version"`
	Workspace string     `json:"workspace"`
	User      string     `json:"user"`
	Mode      tongs.Mode `json:"mode"`
	Pending   int        `json:"pending"`
}

// link logs another browser in.
type link struct {
	Path    string    `json:"path"`
	Expires time.Time `json:"expires"`
}

const linkTime = 10 * time.Minute

func (s *Server) baseRoutes() []route {
	return []route{
		get("/api/about", "What this server is, and how many questions wait", s.about),
		post("/api/links", "Make a link that logs another browser in, once", func(context.Context, request, struct{}) (link, error) {
			return link{Path: "/login#" + s.logins.issue(linkTime), Expires: time.Now().Add(linkTime)}, nil
		}),
		{
			method: http.MethodPost, path: "/api/logout", summary: "Log this browser out", in: nil, out: typeOf[done](),
			media: "application/json", serve: s.logout,
		},
		{
			method: http.MethodGet, path: "/api/events", summary: "What happens, as server-sent events; Last-Event-ID resumes",
			in: typeOf[eventQuery](), media: "text/event-stream", serve: s.events,
		},
		{
			method: http.MethodGet, path: "/api/openapi.json", summary: "This description", media: "application/json",
			serve: func(w http.ResponseWriter, r *http.Request) {
				data, _ := embedded.ReadFile("openapi.json")
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(data)
			},
		},
	}
}

func (s *Server) about(ctx context.Context, _ request, _ struct{}) (about, error) {
	pending, err := s.opt.Questions.List(ctx, true)
	return about{
		Version: s.opt.Version, Workspace: s.opt.Workspace, User: s.opt.User, Mode: s.opt.Mode, Pending: len(pending),
	}, err
}
