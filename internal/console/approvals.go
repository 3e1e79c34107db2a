package console

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/question"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

func (s *Server) approvalRoutes() []route {
	return []route{
		get("/api/approvals", "The questions that wait, and those that were answered last", s.listQuestions),
		get("/api/approvals/{id}", "One question, with what helps to judge it", s.showQuestion),
		get("/api/approvals/{id}/preview", "A part of a preview of any size", s.readPreview),
		post("/api/approvals/{id}/answer", "Answer a question; the first answer wins, later ones get it with status 409", s.answer),
		post("/api/rules/check", "Check lines that an approval would remember", s.checkLines),
	}
}

// questionList is the queue.
type questionList struct {
	Pending []pendingQuestion `json:"pending"`
	// Recent are the last that are over.
	Recent []recentQuestion `json:"recent"`
}

// recentQuestion is a question that is over.
type recentQuestion struct {
	pendingQuestion
	State  approval.State   `json:"state"`
	Answer *approval.Answer `json:"answer,omitempty"`
}

const maxRecent = 50

func (s *Server) listQuestions(ctx context.Context, _ request, _ struct{}) (questionList, error) {
	list := questionList{Pending: []pendingQuestion{}, Recent: []recentQuestion{}}
	all, err := s.opt.Questions.List(ctx, false)
	if err != nil {
		return list, err
	}
	now := time.Now()
	for _, q := range all {
		switch state := q.StateAt(now); {
		case state == approval.Pending:
			list.Pending = append(list.Pending, summarized(q))
		case len(list.Recent) < maxRecent:
			list.Recent = append(list.Recent, recentQuestion{summarized(q), state, shortAnswer(q.Answer)})
		}
	}
	return list, nil
}

// questionDetail is one question.
type questionDetail struct {
	Question approval.Question `json:"question"`
	// Parts are what a person is shown first, the same as in a terminal.
	Parts *question.Parts `json:"parts"`
	State approval.State  `json:"state"`
	// Effects say in plain words what the call would do, the gravest first.
	Effects []effectWords `json:"effects"`
	// Command is the parsed command line, where the call has one.
	Command *commandTree `json:"command,omitempty"`
	// Schema is that of the arguments, where the tool is known here: they can be edited as a form.
	Schema any `json:"schema,omitempty"`
	// Editable says that the arguments can be changed before the call is approved.
	Editable bool `json:"editable"`
}

// effectWords is an effect for people.
type effectWords struct {
	Text string `json:"text"`
	// Grave marks what deserves a second look, Why says why.
	Grave bool   `json:"grave,omitempty"`
	Why   string `json:"why,omitempty"`
}

func (s *Server) showQuestion(ctx context.Context, r request, _ struct{}) (questionDetail, error) {
	q, err := s.opt.Questions.Get(ctx, r.PathValue("id"))
	if err != nil {
		return questionDetail{}, err
	}
	parts := question.Of(&q)
	parts.Diff = nil // the page makes its own of the preview, side by side
	if q.PreviewBytes == 0 && len(q.Preview) > previewPage {
		q.PreviewBytes = int64(len(q.Preview))
		q.Preview = q.Preview[:pageEnd(q.Preview, true)]
	}
	d := questionDetail{
		Question: q, Parts: parts, State: q.StateAt(time.Now()), Effects: plainWords(q.Effects), Command: s.commandOf(q.Args, q.Effects),
		Editable: q.ChangeCount == 0,
	}
	if spec := s.spec(ctx, q.Tool); spec != nil && spec.Input != nil {
		d.Schema = spec.Input
	}
	return d, nil
}

// previewAt is where to read a preview.
type previewAt struct {
	Offset int `query:"offset"`
}

// previewPart is a part of a preview. Next is where the next part begins, Size how long the whole is.
type previewPart struct {
	Text   string `json:"text"`
	Offset int64  `json:"offset"`
	Next   int64  `json:"next"`
	Size   int64  `json:"size"`
}

// previewPage is how much of a preview is shown at once, in bytes.
const previewPage = 128 << 10

func (s *Server) readPreview(ctx context.Context, r request, in previewAt) (previewPart, error) {
	q, err := s.opt.Questions.Get(ctx, r.PathValue("id"))
	if err != nil {
		return previewPart{}, err
	}
	part := previewPart{Offset: int64(in.Offset), Size: q.PreviewBytes}
	var from io.ReaderAt = strings.NewReader(q.Preview)
	if q.PreviewBytes == 0 {
		part.Size = int64(len(q.Preview))
	} else {
		f, err := s.opt.Previews.Open(q.ID)
		if err != nil {
			return part, err
		}
		defer f.Close()
		from = f
	}
	if in.Offset < 0 || part.Offset > part.Size {
		return part, tongs.Errorf(tongs.CodeInvalidArgs, "offset %d is outside of the preview, which has %d bytes", in.Offset, part.Size)
	}
	buf := make([]byte, min(previewPage+utf8.UTFMax, part.Size-part.Offset))
	n, err := from.ReadAt(buf, part.Offset)
	if err != nil && err != io.EOF {
		return part, err
	}
	if n < len(buf) {
		return part, tongs.Errorf(tongs.CodeExecutionError, "the preview of question %s is no longer whole; deny the question, and have the call made again", q.ID)
	}
	text := string(buf)
	text = text[:pageEnd(text, part.Offset+int64(n) < part.Size)]
	part.Text, part.Next = strings.ToValidUTF8(text, "\ufffd"), part.Offset+int64(len(text))
	return part, nil
}

// pageEnd is where a part of a text ends: after a line, or in the middle of one that is longer than a page.
func pageEnd(text string, more bool) int {
	if !more && len(text) <= previewPage {
		return len(text)
	}
	end := min(len(text), previewPage)
	if line := strings.LastIndexByte(text[:end], '\n'); line >= 0 {
		return line + 1
	}
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// spec returns the spec of a tool, nil where there is none.
func (s *Server) spec(ctx context.Context, name string) *tongs.Spec {
	specs, _ := s.opt.Engine.Tools(ctx)
	for _, spec := range specs {
		if spec.Name == name {
			return spec
		}
	}
	return nil
}

// verbs say what an effect does.
var verbs = map[tongs.EffectKind]string{
	tongs.EffectRead: "read", tongs.EffectWrite: "write", tongs.EffectDelete: "delete", tongs.EffectExecute: "run",
	tongs.EffectNetwork: "connect to",
}

// unknowns say it where the target cannot be told.
var unknowns = map[tongs.EffectKind]string{
	tongs.EffectRead:    "read files that cannot be told beforehand",
	tongs.EffectWrite:   "write files that cannot be told beforehand",
	tongs.EffectDelete:  "delete files that cannot be told beforehand",
	tongs.EffectExecute: "run something that cannot be told beforehand",
	tongs.EffectNetwork: "connect to hosts that cannot be told beforehand",
}

// plainWords say what effects do, the gravest first.
func plainWords(effects []tongs.Effect) []effectWords {
	list := make([]effectWords, len(effects))
	for i, e := range approval.ByGravity(effects) {
		text := verbs[e.Kind] + " " + e.Target()
		switch {
		case e.Unknown:
			text = unknowns[e.Kind]
		case e.Kind == tongs.EffectWrite && e.Version == tongs.Absent:
			text = "make the new file " + e.Target()
		case e.Sends:
			text = "send data to " + e.Target()
		}
		list[i] = effectWords{
			Text: text, Why: e.Why,
			Grave: question.Grave(&e),
		}
	}
	return list
}

// commandTree is a command line, taken apart.
type commandTree struct {
	Text     string               `json:"text"`
	Commands []shellsyntax.Simple `json:"commands"`
	Notes    []string             `json:"notes"`
	// Error is why it cannot be read.
	Error string `json:"error,omitempty"`
}

// commandOf takes the command line of a call apart, nil where it has none.
func (s *Server) commandOf(args json.RawMessage, effects []tongs.Effect) *commandTree {
	var in struct {
		Command *string `json:"command"`
		Workdir string  `json:"workdir"`
	}
	if err := json.Unmarshal(args, &in); err != nil || in.Command == nil || !executes(effects) {
		return nil
	}
	tree := &commandTree{Text: *in.Command, Commands: []shellsyntax.Simple{}, Notes: []string{}}
	world := shellsyntax.World{}
	if s.opt.Files != nil {
		if view, err := s.opt.Files(in.Workdir); err == nil {
			world = shellsyntax.ViewWorld(view)
		}
	}
	analysis, err := shellsyntax.Analyse(*in.Command, world, shellsyntax.Options{})
	if err != nil {
		tree.Error = err.Error()
		return tree
	}
	tree.Commands = append(tree.Commands, analysis.Commands...)
	tree.Notes = append(tree.Notes, analysis.Notes...)
	for i := range tree.Commands { // words that are not known hold a NUL
		tree.Commands[i].Argv = shellsyntax.Shown(tree.Commands[i].Argv)
		tree.Commands[i].Effects = nil
	}
	return tree
}

func executes(effects []tongs.Effect) bool {
	for _, e := range effects {
		if e.Kind == tongs.EffectExecute {
			return true
		}
	}
	return false
}

// answerRequest is what a person says.
type answerRequest struct {
	Approved bool            `json:"approved"`
	Scope    approval.Scope  `json:"scope,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	Remember []string        `json:"remember,omitempty"`
	Keep     []string        `json:"keep,omitempty"`
	Reason   string          `json:"reason,omitempty"`
}

// maxReason bounds what a person tells the model, in bytes.
const maxReason = 4 << 10

func (s *Server) answer(ctx context.Context, r request, in answerRequest) (questionDetail, error) {
	q, err := s.opt.Questions.Get(ctx, r.PathValue("id"))
	if err != nil {
		return questionDetail{}, err
	}
	a := approval.Answer{
		Approved: in.Approved, Scope: in.Scope, Args: in.Args, Keep: in.Keep, Remember: in.Remember,
		Reason: strings.TrimSpace(in.Reason), Channel: "console", By: s.by(r),
	}
	if err := s.admit(ctx, q, a); err != nil {
		return questionDetail{}, err
	}
	if err := s.opt.Questions.Answer(ctx, q.ID, a); err != nil {
		return questionDetail{}, err
	}
	s.hub.askAgain()
	return s.showQuestion(ctx, r, struct{}{})
}

// by is who answers, for people.
func (s *Server) by(r request) string {
	if s.opt.User == "" {
		return r.who
	}
	return s.opt.User + " (" + r.who + ")"
}

// admit refuses an answer that would come to nothing, before it uses up the question.
func (s *Server) admit(ctx context.Context, q approval.Question, a approval.Answer) error {
	if _, err := approval.Admit(&q, a, time.Now()); err != nil {
		return err
	}
	if len(a.Reason) > maxReason {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the reason has %d bytes, more than %d; shorten it", len(a.Reason), maxReason)
	}
	if !a.Approved {
		return nil
	}
	for _, line := range a.Remember {
		if _, err := policy.ParseCover(line); err != nil {
			return tongs.Errorf(tongs.CodeInvalidArgs, "the line to remember %q cannot be read: %w", line, err)
		}
	}
	if len(a.Args) == 0 {
		return nil
	}
	if a.Scope != "" && a.Scope != approval.Once {
		return tongs.Errorf(tongs.CodeInvalidArgs, "edited arguments are approved once; choose that, or leave them as they are")
	}
	_, err := s.opt.Engine.Validate(ctx, q.Tool, a.Args)
	return err
}

// lineCheck is the body of POST /api/rules/check.
type lineCheck struct {
	Lines []string `json:"lines"`
}

// lineChecks tells, line by line, what is wrong; empty where nothing is.
type lineChecks struct {
	Errors []string `json:"errors"`
}

func (s *Server) checkLines(_ context.Context, _ request, in lineCheck) (lineChecks, error) {
	out := lineChecks{Errors: make([]string, len(in.Lines))}
	for i, line := range in.Lines {
		if _, err := policy.ParseCover(line); err != nil {
			out.Errors[i] = err.Error()
		}
	}
	return out, nil
}
