package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/schema"
)

// wrongValues are tried until one is wrong for a property.
var wrongValues = []string{`{"tooltest":[1]}`, `"tooltest"`, `12345.5`, `true`, `[[["tooltest"]]]`}

// arguments checks that what the schema does not allow is refused, and nothing is done.
func (s *suite) arguments() {
	s.Helper()
	spec := s.tool.Spec()
	var base map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.opt.Valid[0]), &base); err != nil {
		s.Fatalf("the example %s is not a JSON object: %v", s.opt.Valid[0], err)
	}
	dir := s.place()
	caller := s.caller(s.tool, dir)
	before := s.tree(dir)
	refuse := func(what, args string) {
		s.Helper()
		if res := s.call(s.Context(), caller, "arguments", args); codeOf(res) != tongs.CodeInvalidArgs {
			s.Errorf("%s: %s was not refused as INVALID_ARGS: %s", what, args, outcome(res))
		}
	}
	with := func(name, value string) string {
		changed := maps.Clone(base)
		if changed == nil {
			changed = map[string]json.RawMessage{}
		}
		changed[name] = json.RawMessage(value)
		text, _ := json.Marshal(changed)
		return string(text)
	}
	refuse("not an object", `[]`)
	refuse("not JSON", `{"`)
	if !s.opt.Open {
		refuse("unknown property", with("tooltestUnknown", `1`))
	}
	for _, name := range spec.Input.Required {
		changed := maps.Clone(base)
		delete(changed, name)
		text, _ := json.Marshal(changed)
		refuse("required property "+name+" is missing", string(text))
	}
	var validator schema.Validator
	for _, name := range sortedKeys(spec.Input.Properties) {
		if slices.Contains(s.opt.AnyValue, name) {
			continue
		}
		i := slices.IndexFunc(wrongValues, func(value string) bool {
			_, err := validator.Check(spec, json.RawMessage(with(name, value)))
			return tongs.CodeOf(err) == tongs.CodeInvalidArgs
		})
		if i < 0 {
			s.Errorf("property %s takes every value; give it a type, or name it in AnyValue", name)
			continue
		}
		refuse("property "+name+" is of the wrong type", with(name, wrongValues[i]))
	}
	s.unchanged(before, dir, "refused arguments")
}

// planning checks that explaining a call changes nothing, comes to the same each time, and that every effect is one
// that the tool has the permission for.
func (s *suite) planning() {
	s.Helper()
	spec := s.tool.Spec()
	for _, args := range s.opt.Valid {
		dir := s.place()
		caller := s.caller(s.tool, dir)
		before := s.tree(dir)
		var texts [2][]byte
		for i := range texts {
			explained, err := caller.Explain(s.Context(),
				&tongs.Call{Tool: spec.Name, Args: json.RawMessage(args), Session: "planning"})
			if err != nil {
				s.Errorf("%s cannot be explained: %v", args, err)
				break
			}
			for _, effect := range explained.Effects {
				none := spec.Needs == 0 && effect.Unknown // a tool without permissions has an effect all the same
				if !none && !(spec.Needs | spec.Optional).Has(effect.Kind.Permission()) {
					s.Errorf("%s: the effect %q needs the permission %s, which the spec does not name",
						args, effect, effect.Kind.Permission())
				}
			}
			texts[i], _ = json.Marshal(explained)
		}
		if !bytes.Equal(texts[0], texts[1]) {
			s.Errorf("%s: two plans differ: %s, then %s", args, texts[0], texts[1])
		}
		s.unchanged(before, dir, "planning "+args)
	}
}

// output checks that each example succeeds, that its value matches the schema, and that the result survives JSON.
func (s *suite) output() {
	s.Helper()
	spec := s.tool.Spec()
	var validator schema.Validator
	for _, args := range s.opt.Valid {
		dir := s.place()
		before := s.tree(dir)
		res := s.call(s.Context(), s.caller(s.tool, dir), "output", args)
		if !res.OK() {
			s.Errorf("%s failed: %v", args, res.Error)
			continue
		}
		if err := validator.CheckOutput(spec, orNull(res.Value)); err != nil {
			s.Errorf("%s: %v", args, err)
		}
		if err := roundTrip(res); err != nil {
			s.Errorf("%s: %v", args, err)
		}
		if spec.Hints.ReadOnly {
			s.unchanged(before, dir, "the read-only call "+args)
		}
	}
}

func orNull(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}

func roundTrip(res *tongs.Result) error {
	text, err := json.Marshal(res)
	if err != nil {
		return fmt.Errorf("the result cannot be encoded: %w", err)
	}
	var again tongs.Result
	if err := json.Unmarshal(text, &again); err != nil {
		return fmt.Errorf("the result cannot be read back: %w", err)
	}
	if back, err := json.Marshal(&again); err != nil || !sameJSON(text, back) {
		return fmt.Errorf("the result is not the same after a round trip: %s, then %s", text, back)
	}
	return nil
}

// cancellation checks that a call that was cancelled before it began does nothing, and that the tool itself notices
// when its context ends.
func (s *suite) cancellation() {
	s.Helper()
	for _, args := range s.opt.Valid {
		dir := s.place()
		before := s.tree(dir)
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		res := s.call(ctx, s.caller(s.tool, dir), "cancellation", args)
		if codeOf(res) != tongs.CodeCancelled {
			s.Errorf("%s: a call that was cancelled before it began was not CANCELLED: %s", args, outcome(res))
		}
		s.unchanged(before, dir, "the cancelled call "+args)
		s.cancelled(args, false)
	}
	for _, args := range s.opt.Blocking {
		s.cancelled(args, true)
	}
}

// cancelled makes a call and cancels it as soon as the tool runs, or after it began. What the tool returned is looked
// at where it returns it: a caller may well cover up for it.
func (s *suite) cancelled(args string, began bool) {
	s.Helper()
	if _, never := s.tool.(tongs.Redirector); never {
		return // it is never run: the tool that it stands for is
	}
	dir := s.place()
	before := s.tree(dir)
	returned := make(chan string, 8)
	spy := wrap(s.tool, func(ctx context.Context, env *tongs.Env, call *tongs.Call) (*tongs.Result, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if began {
			time.AfterFunc(20*time.Millisecond, cancel) // most likely it blocks by then; if not, it must notice too
		} else {
			cancel()
		}
		res, err := s.tool.Call(ctx, env, call)
		returned <- judgeCancelled(res, err)
		if err == nil && res != nil && res.OK() {
			res.Error = tongs.Errorf(tongs.CodeCancelled, "cancelled")
		}
		return res, err
	})
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	caller := s.caller(spy, dir)
	done := make(chan struct{})
	go func() {
		defer close(done)
		caller.Call(ctx, &tongs.Call{Tool: s.tool.Spec().Name, Args: json.RawMessage(args), Session: "cancelled"})
	}()
	timer := time.NewTimer(s.opt.patience)
	defer timer.Stop()
	select {
	case trouble := <-returned:
		<-done
		if trouble != "" {
			s.Errorf("%s: the tool was cancelled and %s", args, trouble)
		} else if !began {
			s.unchanged(before, dir, "the cancelled run of "+args)
		}
	case <-done:
		select {
		case <-returned:
		default:
			s.Errorf("%s: the call ended before the tool ran", args)
		}
	case <-timer.C:
		s.Errorf("%s: the tool was cancelled and did not return within %s", args, s.opt.patience)
		cancel()
		<-done
	}
}

// judgeCancelled says what is wrong with what a cancelled tool returned.
func judgeCancelled(res *tongs.Result, err error) string {
	if err == nil && res != nil && res.Error != nil {
		err = res.Error
	}
	switch {
	case err == nil:
		return "returned a result all the same"
	case tongs.CodeOf(err) == tongs.CodeCancelled, errors.Is(err, context.Canceled):
		return ""
	default:
		return fmt.Sprintf("returned another error: %v", err)
	}
}

// parallel makes every call several times at once, in one directory.
func (s *suite) parallel() {
	s.Helper()
	dir := s.place()
	caller := s.caller(s.tool, dir)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var troubles []string
	for i := range 4 {
		for _, args := range s.opt.Valid {
			wg.Go(func() {
				res := caller.Call(s.Context(), &tongs.Call{
					Tool: s.tool.Spec().Name, Args: json.RawMessage(args), Session: fmt.Sprintf("parallel%d", i),
				})
				trouble := ""
				if res == nil || codeOf(res) == tongs.CodeInternal {
					trouble = outcome(res)
				} else if err := roundTrip(res); err != nil {
					trouble = err.Error()
				}
				if trouble != "" {
					mu.Lock()
					defer mu.Unlock()
					troubles = append(troubles, args+": "+trouble)
				}
			})
		}
	}
	wg.Wait()
	for _, trouble := range troubles {
		s.Errorf("in parallel, %s", trouble)
	}
}

func codeOf(res *tongs.Result) tongs.Code {
	if res.Error == nil {
		return ""
	}
	return res.Error.Code
}

func outcome(res *tongs.Result) string {
	switch {
	case res == nil:
		return "no result"
	case res.Error != nil:
		return res.Error.Error()
	default:
		return fmt.Sprintf("it succeeded: %.200s", res.Content)
	}
}
