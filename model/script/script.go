// Package script is a model that says what a file tells it to: for demonstrations that need no key, and for tests. A
// script is a list of turns; each may check what the model was told, and fails the turn where that is not as expected.
package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/tongs-ai/tongs/model"
)

// maxFile bounds a script.
const maxFile = 16 << 20

// Script is the file, in YAML or JSON.
type Script struct {
	// Model is the name under which the script answers; empty is "script".
	Model string `yaml:"model,omitempty"`
	// Turns are the conversation, in order: the first answers the first message, and so on. Which comes next is told by
	// how often the model already spoke, so that a session that is continued goes on where it was.
	Turns []Turn `yaml:"turns,omitempty"`
	// Conversations are for several agents on one script: the first one whose When matches is taken, before Turns.
	Conversations []Conversation `yaml:"conversations,omitempty"`
}

// Conversation is a list of turns for the conversations that it matches.
type Conversation struct {
	// When is a regular expression that the system prompt or the first message must match.
	When  string `yaml:"when"`
	Turns []Turn `yaml:"turns"`
}

// Turn is what the model expects and says. In texts and arguments, ${name} stands for what a group of that name,
// (?P<name>...), matched in an expectation of this turn or an earlier one.
type Turn struct {
	// Expect are regular expressions that what the model was told since it last spoke must match, each. A result is
	// told as "read_file: ..." or "read_file failed: ...". ^ and $ match at each line; (?s) lets a dot match its end.
	Expect Words `yaml:"expect,omitempty"`
	// Refute must not match.
	Refute Words `yaml:"refute,omitempty"`
	// Offered are tools that it must have been offered, Withheld ones that it must not.
	Offered  Words `yaml:"offered,omitempty"`
	Withheld Words `yaml:"withheld,omitempty"`

	Thinking string `yaml:"thinking,omitempty"`
	Text     string `yaml:"text,omitempty"`
	Calls    []Call `yaml:"calls,omitempty"`
	// Stop is end, calls, length or refuse; empty is what follows from the calls.
	Stop model.Stop `yaml:"stop,omitempty"`
	// Usage nil is counted from the length of the texts.
	Usage *Usage `yaml:"usage,omitempty"`
	// Failures come first, one for each attempt, before the turn succeeds.
	Failures []Failure `yaml:"failures,omitempty"`
}

// Call is a call that the model makes.
type Call struct {
	// ID empty is made up, the same each time.
	ID   string `yaml:"id,omitempty"`
	Tool string `yaml:"tool"`
	// Args are an object; Raw, where it is set, is what the model wrote instead, valid or not.
	Args map[string]any `yaml:"args,omitempty"`
	Raw  string         `yaml:"raw,omitempty"`
}

// Usage counts tokens.
type Usage struct {
	Input      int64 `yaml:"input,omitempty"`
	Output     int64 `yaml:"output,omitempty"`
	CacheRead  int64 `yaml:"cache_read,omitempty"`
	CacheWrite int64 `yaml:"cache_write,omitempty"`
}

// Failure is an attempt that fails.
type Failure struct {
	// Status is that of HTTP, such as 429 or 529; 0 with Cut is a connection that broke.
	Status  int    `yaml:"status,omitempty"`
	Message string `yaml:"message,omitempty"`
	// After is how long the provider wants us to wait, such as 2s.
	After string `yaml:"after,omitempty"`
	// Cut fails in the middle of the answer, of which the first half of the text has arrived.
	Cut bool `yaml:"cut,omitempty"`
	// TooLong is a conversation that does not fit.
	TooLong bool `yaml:"too_long,omitempty"`
}

// Words is a string or a list of them.
type Words []string

// UnmarshalYAML reads either form.
func (w *Words) UnmarshalYAML(data []byte) error {
	var one string
	if yaml.Unmarshal(data, &one) == nil {
		*w = Words{one}
		return nil
	}
	var many []string
	if err := yaml.Unmarshal(data, &many); err != nil {
		return errors.New("this is neither a string nor a list of strings")
	}
	*w = many
	return nil
}

// Open reads a script from a file.
func Open(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the script of the model: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("the script of the model: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("the script %s is over %d MB", path, maxFile>>20)
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("the script %s: %w", path, err)
	}
	return m, nil
}

// Parse reads a script.
func Parse(data []byte) (*Model, error) {
	var s Script
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.DisallowUnknownField())
	if err := dec.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return New(s)
}

// New returns the model that plays the script.
func New(s Script) (*Model, error) {
	if s.Model == "" {
		s.Model = "script"
	}
	m := &Model{name: s.Model, tries: map[string]int{}}
	if len(s.Turns) == 0 && len(s.Conversations) == 0 {
		return nil, errors.New("it has no turns")
	}
	for i, c := range s.Conversations {
		when, err := regexp.Compile("(?m)" + c.When)
		if err != nil {
			return nil, fmt.Errorf("conversation %d: when: %w", i+1, err)
		}
		turns, err := compile(c.Turns)
		if err != nil {
			return nil, fmt.Errorf("conversation %d: %w", i+1, err)
		}
		m.talks = append(m.talks, talk{when, turns})
	}
	turns, err := compile(s.Turns)
	if err != nil {
		return nil, err
	}
	m.talks = append(m.talks, talk{regexp.MustCompile(""), turns})
	return m, nil
}

// talk is a conversation, compiled.
type talk struct {
	when  *regexp.Regexp
	turns []*turn
}

type turn struct {
	Turn
	expect, refute []*regexp.Regexp
	after          []time.Duration
}

func compile(turns []Turn) (out []*turn, err error) {
	for i, t := range turns {
		c := &turn{Turn: t}
		if c.expect, err = expressions(t.Expect); err == nil {
			c.refute, err = expressions(t.Refute)
		}
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		if !slices.Contains([]model.Stop{"", model.StopEnd, model.StopCalls, model.StopLength, model.StopRefuse}, t.Stop) {
			return nil, fmt.Errorf("turn %d: stop: %q is not one of end, calls, length, refuse", i+1, t.Stop)
		}
		for _, call := range t.Calls {
			if call.Tool == "" {
				return nil, fmt.Errorf("turn %d: a call names no tool", i+1)
			}
			if call.Raw != "" && call.Args != nil {
				return nil, fmt.Errorf("turn %d: the call of %s has both args and raw", i+1, call.Tool)
			}
			if _, err := json.Marshal(call.Args); err != nil {
				return nil, fmt.Errorf("turn %d: the arguments of %s: %w", i+1, call.Tool, err)
			}
		}
		for _, f := range t.Failures {
			var after time.Duration
			if f.After != "" {
				if after, err = time.ParseDuration(f.After); err != nil {
					return nil, fmt.Errorf("turn %d: after: %q is no duration such as 2s", i+1, f.After)
				}
			}
			if f.Status == 0 && !f.Cut || f.Status != 0 && http.StatusText(f.Status) == "" && f.Status != 529 {
				return nil, fmt.Errorf("turn %d: a failure has a status such as 429, or cut: true", i+1)
			}
			c.after = append(c.after, after)
		}
		out = append(out, c)
	}
	return out, nil
}

func expressions(words Words) (out []*regexp.Regexp, err error) {
	for _, w := range words {
		re, err := regexp.Compile("(?m)" + w)
		if err != nil {
			return nil, fmt.Errorf("%q is no regular expression: %w", w, err)
		}
		out = append(out, re)
	}
	return out, nil
}
