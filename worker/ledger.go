package worker

import (
	"fmt"
	"sync"
	"time"

	"github.com/tongs-ai/tongs/model"
)

// LimitError says which limit ended a run.
type LimitError struct {
	// What is the key of the limit, Of the worker whose limit it is.
	What, Of string
	Limit    string
}

// Error says what was reached and where it can be raised.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit %s of the worker %s is reached (%s)", e.What, e.Of, e.Limit)
}

// ledger counts what a run uses. What it counts counts for the run that called it, too, so that a worker cannot spend
// more through others than by itself. It is safe for concurrent use.
type ledger struct {
	parent *ledger
	of     string
	limits Limits
	price  *model.Price

	mu    sync.Mutex
	own   model.Usage
	total model.Usage
	cost  float64
	// unpriced is set once something was used that has no price.
	unpriced bool
	// turns are those since it began, before what a continued session had.
	turns, before int
	files         map[string]bool
	lines         int
}

func newLedger(f *File, price *model.Price, parent *ledger) *ledger {
	l := &ledger{parent: parent, of: f.Name, limits: f.Limits, price: price, files: map[string]bool{}}
	if l.limits.Turns == 0 {
		l.limits.Turns = DefaultTurns
	}
	return l
}

// spend counts a turn of the model.
func (l *ledger) spend(u model.Usage) {
	cost, priced := l.costs(u)
	l.mu.Lock()
	l.own = l.own.Add(u)
	l.turns++
	l.mu.Unlock()
	for ; l != nil; l = l.parent {
		l.mu.Lock()
		l.total, l.cost = l.total.Add(u), l.cost+cost
		l.unpriced = l.unpriced || !priced
		l.mu.Unlock()
	}
}

// costs returns what tokens cost, and whether that is known.
func (l *ledger) costs(u model.Usage) (float64, bool) {
	if l.price == nil {
		return 0, false
	}
	return l.price.Cost(u), true
}

// change counts files and lines that a call changed.
func (l *ledger) change(changes []Change) {
	for ; l != nil; l = l.parent {
		l.mu.Lock()
		for _, c := range changes {
			l.files[c.Path] = true
			l.lines += c.Added + c.Removed
		}
		l.mu.Unlock()
	}
}

// over returns the limit that does not allow another turn, nil where every one does. A turn of about input tokens must
// still fit.
func (l *ledger) over(input int64) error {
	cost, _ := l.costs(model.Usage{Input: input})
	turns := l
	for ; l != nil; l = l.parent {
		if err := l.reached(input, cost, l == turns); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledger) reached(input int64, cost float64, own bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := func(what, format string, args ...any) error {
		return &LimitError{What: what, Of: l.of, Limit: fmt.Sprintf(format, args...)}
	}
	used := l.total.Input + l.total.Output
	switch m := l.limits; {
	case own && l.turns >= m.Turns:
		return limit("turns", "%d", m.Turns)
	case m.Tokens > 0 && used+input >= m.Tokens:
		return limit("tokens", "%d used of %d, and the next turn takes about %d", used, m.Tokens, input)
	case m.Cost > 0 && l.unpriced:
		return limit("cost", "what was used has no price")
	case m.Cost > 0 && l.cost+cost >= m.Cost:
		return limit("cost", "$%.4f used of $%.4f", l.cost, m.Cost)
	case m.FilesChanged > 0 && len(l.files) > m.FilesChanged:
		return limit("filesChanged", "%d files were changed; %d may be", len(l.files), m.FilesChanged)
	case m.LinesChanged > 0 && l.lines > m.LinesChanged:
		return limit("linesChanged", "%d lines were changed; %d may be", l.lines, m.LinesChanged)
	}
	return nil
}

// mayChange returns the limit that does not allow these further files to be changed.
func (l *ledger) mayChange(paths []string) error {
	for ; l != nil; l = l.parent {
		l.mu.Lock()
		n := len(l.files)
		for _, p := range paths {
			if !l.files[p] {
				n++
			}
		}
		m := l.limits
		lines := l.lines
		l.mu.Unlock()
		if m.FilesChanged > 0 && n > m.FilesChanged {
			return &LimitError{What: "filesChanged", Of: l.of, Limit: fmt.Sprintf("%d files would be changed; %d may be", n, m.FilesChanged)}
		}
		if m.LinesChanged > 0 && lines >= m.LinesChanged {
			return &LimitError{What: "linesChanged", Of: l.of, Limit: fmt.Sprintf("%d lines were changed; %d may be", lines, m.LinesChanged)}
		}
	}
	return nil
}

// left is how many tokens the next turn may still take, 0 where nothing limits that.
func (l *ledger) left() (tokens int64) {
	for ; l != nil; l = l.parent {
		l.mu.Lock()
		if m := l.limits.Tokens; m > 0 {
			if n := m - l.total.Input - l.total.Output; tokens == 0 || n < tokens {
				tokens = max(n, 1)
			}
		}
		l.mu.Unlock()
	}
	return tokens
}

// costLimited reports whether somebody on the way limits the cost.
func (l *ledger) costLimited() bool {
	for ; l != nil; l = l.parent {
		if l.limits.Cost > 0 {
			return true
		}
	}
	return false
}

// fill puts what was counted into a session.
func (l *ledger) fill(s *Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Turns, s.Usage, s.Total, s.Cost = l.before+l.turns, l.own, l.total, l.cost
	s.Priced = !l.unpriced && s.Turns > 0
	s.Files, s.Lines = len(l.files), l.lines
}

// take continues to count where a session ended.
func (l *ledger) take(s *Session, entries []Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own, l.total, l.cost, l.lines, l.before = s.Usage, s.Total, s.Cost, s.Lines, s.Turns
	l.unpriced = !s.Priced && s.Turns > 0
	for _, e := range entries {
		for _, call := range e.Calls {
			for _, c := range call.Changed {
				l.files[c.Path] = true
			}
		}
	}
}

// timeLimit is the limit of time of a run as an error.
func timeLimit(f *File) error {
	return &LimitError{What: "time", Of: f.Name, Limit: f.Limits.Time.Round(time.Second).String()}
}
