package console

import (
	"context"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/insight"
)

func (s *Server) statsRoutes() []route {
	return []route{
		get("/api/statistics", "What the log says of the last hour, day or week; durations are milliseconds", s.statistics),
	}
}

// warm has the log take up what statistics need, so that nobody waits for it who opens a page.
func (s *Server) warm() {
	for range audit.Facts(s.life, s.opt.Audit, time.Now().Add(time.Hour)) { // none are so young
	}
}

// windowQuery selects how far back to look.
type windowQuery struct {
	Window string `query:"window" doc:"hour, day (which is meant by nothing) or week"`
}

// window returns the window that ends now.
func (q windowQuery) window(now time.Time) (insight.Window, error) {
	const day = 24 * time.Hour
	length, ok := map[string]time.Duration{"hour": time.Hour, "": day, "day": day, "week": 7 * day}[q.Window]
	if !ok {
		return insight.Window{}, tongs.Errorf(tongs.CodeInvalidArgs, "window %q is not one of hour, day, week", q.Window)
	}
	return insight.Last(length, now), nil
}

func (s *Server) statistics(ctx context.Context, _ request, in windowQuery) (*insight.Stats, error) {
	return s.sum(ctx, in)
}

func (s *Server) sum(ctx context.Context, in windowQuery) (*insight.Stats, error) {
	w, err := in.window(time.Now())
	if err != nil {
		return nil, err
	}
	return insight.Summarize(ctx, s.opt.Audit, w, audit.Filter{})
}
