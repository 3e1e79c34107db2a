package web

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network/egress"
)

const (
	robotsLife  = time.Hour
	robotsBytes = 512 << 10
	robotsHosts = 1000
	// robotsTime is how long a site may take to say what it asks.
	robotsTime = 10 * time.Second
)

// robots knows what sites ask of readers. It is safe for concurrent use.
type robots struct {
	now func() time.Time

	mu    sync.Mutex
	sites map[string]*site
}

type site struct {
	group *robotstxt.Group
	until time.Time
}

// allow returns nil where a site does not ask readers to stay away from the address. A site that says nothing, or cannot
// say it, asks nothing; a failure of the network is left to the request itself.
func (r *robots) allow(ctx context.Context, client tongs.HTTP, u *url.URL) error {
	if u.Path == "/robots.txt" {
		return nil
	}
	where := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	known := r.known(where.String())
	if known == nil {
		group, err := fetchRobots(ctx, client, where)
		if err != nil {
			return err
		}
		known = r.learn(where.String(), group)
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	if known.group == nil || known.group.Test(path) {
		return nil
	}
	return tongs.Errorf(tongs.CodePermissionDenied,
		"%s asks automatic readers to stay away from %s (its robots.txt); look for the same elsewhere, or set toolsets.web.robots: ignore", u.Host, short(u.Path))
}

func (r *robots) known(where string) *site {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sites[where]; s != nil && r.now().Before(s.until) {
		return s
	}
	return nil
}

func (r *robots) learn(where string, group *robotstxt.Group) *site {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sites == nil || len(r.sites) >= robotsHosts {
		r.sites = map[string]*site{}
	}
	s := &site{group: group, until: r.now().Add(robotsLife)}
	r.sites[where] = s
	return s
}

// fetchRobots reads the file of a site; nil is one that asks nothing.
func fetchRobots(ctx context.Context, client tongs.HTTP, where *url.URL) (group *robotstxt.Group, err error) {
	// A redirect of the file itself is followed without looking for another file there.
	req, err := http.NewRequestWithContext(egress.OnRedirect(ctx, nil), http.MethodGet, where.String(), http.NoBody)
	if err != nil {
		return nil, nil
	}
	req.Header.Set("User-Agent", UserAgent)
	res, err := client.Do(req)
	if err != nil {
		if code := tongs.CodeOf(err); code.Refused() || ctx.Err() != nil {
			return nil, err
		}
		return nil, nil
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, robotsBytes))
	if err != nil {
		return nil, nil
	}
	return parseRobots(body), nil
}

func parseRobots(body []byte) (group *robotstxt.Group) {
	defer func() {
		if recover() != nil {
			group = nil
		}
	}()
	data, err := robotstxt.FromBytes(body)
	if err != nil {
		return nil
	}
	return data.FindGroup(agentToken)
}
