package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

// errStopped is why a turn ended that a person stopped.
var errStopped = errors.New("stopped by a person")

// mends is how often in a row the model is told what is wrong with its answer before the run fails.
const mends = 3

// loop takes turns until the model is done, a limit is met, or somebody stops it.
func (x *run) loop(ctx context.Context) (*Session, error) {
	if t := x.file.Limits.Time; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, timeLimit(x.file))
		defer cancel()
	}
	for mended := 0; ; {
		answer, err := x.turn(ctx)
		switch {
		case err == nil && answer == nil:
			mended = 0
		case err == nil && answer.Stop == model.StopRefuse:
			return x.end(ctx, Failed, errors.New("the model declined to answer"))
		case err == nil:
			wrong := x.flaw(answer)
			if wrong == "" {
				return x.end(ctx, Done, nil)
			}
			if mended++; mended > mends {
				return x.end(ctx, Failed, errors.New(wrong))
			}
			x.event(Event{Type: EventNote, Text: wrong})
			err = x.say(ctx, model.Message{Role: model.User, Parts: []model.Part{{Text: wrong}}})
		case errors.Is(err, errStopped) && ctx.Err() == nil:
			err = x.further(ctx)
		}
		if err != nil {
			return x.end(ctx, outcome(ctx, err), err)
		}
	}
}

// outcome is the state that an error leaves a session in.
func outcome(ctx context.Context, err error) State {
	_, limited := errors.AsType[*LimitError](err)
	if cause := context.Cause(ctx); !limited && cause != nil {
		_, limited = errors.AsType[*LimitError](cause)
	}
	switch {
	case limited:
		return Limited
	case ctx.Err() != nil || errors.Is(err, errStopped):
		return Stopped
	}
	return Failed
}

// end closes the session.
func (x *run) end(ctx context.Context, state State, why error) (*Session, error) {
	x.mu.Lock()
	x.session.State, x.session.PID = state, 0
	if why != nil {
		if cause := context.Cause(ctx); cause != nil && state != Failed {
			why = cause
		}
		x.session.Why = why.Error()
		if errors.Is(why, context.Canceled) || errors.Is(why, errStopped) {
			x.session.Why = errStopped.Error()
		}
	}
	x.mu.Unlock()
	err := x.keep(ctx)
	s := x.snapshot()
	x.event(Event{Type: EventEnd, Snapshot: s})
	return s, err
}

// further asks what to do instead of what was stopped.
func (x *run) further(ctx context.Context) error {
	if x.job.Further == nil {
		return errStopped
	}
	text, err := x.job.Further(ctx)
	if err != nil {
		return err
	}
	if text = strings.TrimSpace(text); text == "" {
		return errStopped
	}
	return x.say(ctx, model.Message{Role: model.User, Parts: []model.Part{{Text: text}}})
}

// turn asks the model and makes its calls. It returns the answer where the model made none.
func (x *run) turn(ctx context.Context) (*model.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if x.job.Stop != nil {
		go func() {
			select {
			case <-x.job.Stop:
				cancel(errStopped)
			case <-ctx.Done():
			}
		}()
	}
	answer, err := x.ask(ctx)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	calls := answer.Message.Calls()
	x.mu.Lock()
	x.session.Calls += len(calls)
	if text := answer.Message.Text(); strings.TrimSpace(text) != "" {
		x.session.Answer = text
	}
	x.mu.Unlock()
	if len(calls) == 0 {
		x.event(Event{Type: EventTurn, Snapshot: x.snapshot()})
		return answer, nil
	}
	message, notes, err := x.perform(ctx, answer.Message)
	x.talk.add(message)
	if kept := x.keep(ctx, Entry{Message: message, Calls: notes}); kept != nil {
		return nil, kept
	}
	x.event(Event{Type: EventTurn, Snapshot: x.snapshot()})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// stopped returns why the context ended, where that is why something failed.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// ask sends the conversation and returns what the model answers, trying again where that may help.
func (x *run) ask(ctx context.Context) (*model.Response, error) {
	specs, err := x.opt.Describe(x.offered(ctx))
	if err != nil {
		return nil, err
	}
	x.talk.fixed = int64(len(x.system))/bytesPerToken + toolTokens(specs)
	for attempt := 1; ; attempt++ {
		messages, size := x.talk.fit()
		if err := x.ledger.over(size); err != nil {
			return nil, err
		}
		req := &model.Request{
			System: x.system, Messages: messages, Tools: specs, Output: x.file.Output, Temperature: x.file.Temperature,
			MaxTokens: x.file.MaxTokens,
		}
		if left := x.ledger.left(); left > 0 {
			if left = max(1, left-size); req.MaxTokens == 0 || int64(req.MaxTokens) > left {
				req.MaxTokens = int(left)
			}
		}
		began := time.Now()
		answer, err := x.model.Turn(ctx, req, x.stream)
		if answer != nil && (err == nil || answer.Usage != (model.Usage{})) {
			x.ledger.spend(answer.Usage) // what was cut off is paid for, too
		}
		if err == nil {
			x.talk.learn(size, answer.Usage.Input)
			return answer, x.answered(ctx, answer, time.Since(began))
		}
		if err := x.recover(ctx, err, attempt); err != nil {
			return nil, err
		}
	}
}

// answered keeps an answer.
func (x *run) answered(ctx context.Context, answer *model.Response, took time.Duration) error {
	x.talk.add(answer.Message)
	for _, lost := range answer.Lost {
		if !x.lost[lost] { // every turn says it anew
			x.lost[lost] = true
			x.event(Event{Type: EventNote, Text: lost})
		}
	}
	x.event(Event{Type: EventAnswer, Text: answer.Message.Text()})
	return x.keep(ctx, Entry{Message: answer.Message, Usage: answer.Usage, Model: answer.Model, Took: took})
}

// stream tells of an answer while it arrives.
func (x *run) stream(d model.Delta) {
	switch {
	case d.Text != "":
		x.event(Event{Type: EventText, Text: d.Text})
	case d.Thinking != "":
		x.event(Event{Type: EventThinking, Text: d.Thinking})
	}
}

// offered are the tools of this turn.
func (x *run) offered(ctx context.Context) (specs []*tongs.Spec) {
	all, broken := x.opt.Tools(ctx)
	for _, spec := range all {
		if broken[spec.Name] == nil && x.file.Offers(spec) && x.reaches(spec) {
			specs = append(specs, spec)
		}
	}
	return specs
}

// reaches reports whether every worker on the way has the tool: what a worker was not given it cannot give.
func (x *run) reaches(spec *tongs.Spec) bool {
	if spec.Source.Kind == tongs.SourceWorker || spec.Toolset == Toolset {
		return true
	}
	for p := x.parent; p != nil; p = p.parent {
		if !p.file.Offers(spec) {
			return false
		}
	}
	return true
}

// flaw says what is wrong with an answer, "" where it is one to end with.
func (x *run) flaw(answer *model.Response) string {
	text := strings.TrimSpace(answer.Message.Text())
	switch {
	case answer.Stop == model.StopLength:
		return "Your answer was cut off, since it was too long. Go on where it ended, or answer in fewer words."
	case text == "":
		return "Your answer was empty. Use a tool, or say what you found."
	case x.file.Output == nil:
		return ""
	}
	if err := checkOutput(x.file.Output, text); err != nil {
		return fmt.Sprintf("Your answer must be JSON of the output schema and nothing else: %v. Answer again.", err)
	}
	return ""
}
