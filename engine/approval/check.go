package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/secrets"
)

// DefaultLate is how long an answer that nobody waited for serves the identical call.
const DefaultLate = 10 * time.Minute

// Options configure a store. Zero values have the defaults named.
type Options struct {
	// Late is how long an answer that nobody waited for serves the identical call; 0 is DefaultLate.
	Late time.Duration
	// Environ holds variables (KEY=value) whose secret values are removed from questions that are over.
	Environ []string
}

// LateOrDefault returns Late, or its default.
func (o Options) LateOrDefault() time.Duration {
	if o.Late <= 0 {
		return DefaultLate
	}
	return o.Late
}

// The bounds of an answer.
const (
	maxRemember     = 100
	maxRememberLine = 4 << 10
)

// Admit returns the answer as it is kept, or why the question cannot have it at that time. Every Store admits answers
// with it.
func Admit(q *Question, a Answer, now time.Time) (Answer, error) {
	switch q.StateAt(now) {
	case Answered:
		return a, &AnsweredError{ID: q.ID, Answer: *q.Answer}
	case Withdrawn:
		return a, fmt.Errorf("question %s: %w", q.ID, ErrWithdrawn)
	case Expired:
		return a, fmt.Errorf("question %s: %w", q.ID, ErrExpired)
	}
	invalid := func(format string, args ...any) (Answer, error) {
		return a, fmt.Errorf("question %s: %w: %s", q.ID, ErrInvalid, fmt.Sprintf(format, args...))
	}
	if a.Channel == "" {
		a.Channel = "api"
	}
	a.At = now
	if !a.Approved {
		a.Scope, a.Args, a.Remember, a.Keep = "", nil, nil, nil
		return a, nil
	}
	if a.ByCaller && q.Elsewhere {
		return a, fmt.Errorf("question %s: %w", q.ID, errOwnCall)
	}
	if a.Scope == "" {
		a.Scope = Once
	}
	if !slices.Contains(q.Scopes, a.Scope) {
		return invalid("scope %q is not one of %v", a.Scope, q.Scopes)
	}
	if len(a.Args) > 0 && !isObject(a.Args) {
		return invalid("the edited arguments are not a JSON object: %.80q", a.Args)
	}
	if q.ChangeCount > 0 && len(a.Args) > 0 {
		return invalid("the call already ran, so its arguments cannot be edited any more; deny, and say why")
	}
	if a.Keep != nil && (q.ChangeCount == 0 || len(a.Keep) == 0) {
		return invalid("it keeps %d of %d changes; deny to keep none", len(a.Keep), q.ChangeCount)
	}
	for _, kept := range a.Keep {
		if len(q.Changes) == q.ChangeCount && !slices.ContainsFunc(q.Changes, func(c tongs.Change) bool { return Keeps(kept, c) }) {
			return invalid("%q is not among the changes", kept)
		}
	}
	if a.Keep != nil && a.Scope != Once {
		return invalid("it keeps some of the changes, so it cannot be for %q: what it drops would be allowed the next time", a.Scope)
	}
	if len(a.Remember) > 0 && a.Scope == Once {
		return invalid("it has lines to remember, but the scope %q", Once)
	}
	if len(a.Remember) > maxRemember {
		return invalid("it has %d lines to remember, more than %d", len(a.Remember), maxRemember)
	}
	for _, line := range a.Remember {
		if strings.TrimSpace(line) == "" || strings.ContainsAny(line, "\r\n\x00") || len(line) > maxRememberLine || !utf8.ValidString(line) {
			return invalid("the line to remember %.80q is empty, too long or not one line of text", line)
		}
	}
	return a, nil
}

// Keeps reports whether a path of Answer.Keep is that of the change, or of a directory above it.
func Keeps(kept string, c tongs.Change) bool {
	at := c.Path.String()
	return at == kept || strings.HasPrefix(at, strings.TrimSuffix(kept, "/")+"/")
}

// Fold moves the changes to the end that are below an added directory of the list, and are nothing special, and returns how
// many are left before them: those tell of all. Both parts keep their order.
func Fold(changes []tongs.Change) (outer int) {
	added := map[tongs.Path]bool{}
	for _, c := range changes {
		if c.Kind == tongs.Added && c.Type == tongs.FileDirectory {
			added[c.Path] = true
		}
	}
	var first, rest []tongs.Change
	for _, c := range changes {
		if c.Protected == "" && c.Kind == tongs.Added && inside(c.Path, added) {
			rest = append(rest, c)
		} else {
			first = append(first, c)
		}
	}
	copy(changes, first)
	copy(changes[len(first):], rest)
	return len(first)
}

// inside reports whether a directory above the path is one of those.
func inside(p tongs.Path, dirs map[tongs.Path]bool) bool {
	for up := path.Dir(p.Rel); up != "." && up != "/"; up = path.Dir(up) {
		if dirs[tongs.Path{Root: p.Root, Rel: up}] {
			return true
		}
	}
	return false
}

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

// skew is by how much clocks may differ that answer and redeem.
const skew = time.Minute

// Redeemable reports whether the identical call may take the question's answer: with the question's ID as its ticket,
// or, where ticket is empty, because the answer came less than late ago.
func Redeemable(q *Question, digest, ticket string, late time.Duration, now time.Time) bool {
	if q.Answer == nil || !q.Redeemed.IsZero() || q.Digest != digest {
		return false
	}
	// An answer from the future means that the clock was set back: how old it is cannot be told.
	inTime := !now.Before(q.Answer.At.Add(-skew)) && now.Before(q.Answer.At.Add(late))
	if ticket == "" {
		return inTime
	}
	return q.ID == ticket && (inTime || now.Before(q.Expires))
}

// IsOutdated reports whether the question is an approval of the same call in another state.
func IsOutdated(q *Question, key, digest string, late time.Duration, now time.Time) bool {
	return key != "" && q.Key == key && q.Digest != digest && q.Answer != nil && q.Answer.Approved &&
		Redeemable(q, q.Digest, "", late, now)
}

// Over reports whether nobody can use the question's arguments any more.
func Over(q *Question, late time.Duration, now time.Time) bool {
	switch q.StateAt(now) {
	case Pending:
		return false
	case Answered:
		return !q.Redeemed.IsZero() || !Redeemable(q, q.Digest, q.ID, late, now)
	default:
		return true
	}
}

// Scrubber removes secrets from questions that are over.
type Scrubber struct{ secrets *secrets.Redactor }

// NewScrubber returns a Scrubber for the options.
func NewScrubber(o Options) Scrubber { return Scrubber{secrets.New(o.Environ)} }

// maxPreview bounds the preview that is kept of a question that is over.
const maxPreview = 2 << 10

// Scrub returns the question without secrets: what is kept of it once it is over.
func (s Scrubber) Scrub(q Question) Question {
	q.Args = s.secrets.Bounded(q.Args)
	q.Preview, q.PreviewBytes = s.text(q.Preview), 0
	q.Message, q.Reason, q.Why = s.text(q.Message), s.text(q.Reason), s.text(q.Why)
	q.Notes, q.Remember = s.texts(q.Notes), s.texts(q.Remember)
	q.Effects = slices.Clone(q.Effects)
	for i := range q.Effects {
		e := &q.Effects[i]
		e.Argv, e.Env, e.Why = s.secrets.Argv(e.Argv), s.secrets.Argv(e.Env), s.text(e.Why)
		e.Path.Rel, e.Host = s.text(e.Path.Rel), s.text(e.Host)
	}
	if q.Answer != nil {
		a := *q.Answer
		a.Args, a.Reason, a.Remember = s.secrets.Bounded(a.Args), s.text(a.Reason), s.texts(a.Remember)
		q.Answer = &a
	}
	return q
}

func (s Scrubber) texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = s.text(out[i])
	}
	return out
}

func (s Scrubber) text(text string) string {
	clean := s.secrets.Text(text)
	if len(clean) > maxPreview {
		clean = fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(clean[:maxPreview], ""), len(text))
	}
	return clean
}
