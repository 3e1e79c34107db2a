package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
)

func (s *Server) callRoutes() []route {
	return []route{
		get("/api/calls", "The calls of every process, newest first", s.listCalls),
		get("/api/calls/{id}", "One call: its row, and what this process knows of its output and result", s.showCall),
		post("/api/calls/{id}/cancel", "Cancel a call that was made from the console", s.cancelCall),
		{
			method: http.MethodGet, path: "/api/calls/{id}/files/{name...}", media: "application/octet-stream", serve: s.callFile,
			summary: "A file that the call left: output too long to show, an attachment",
		},
	}
}

// callQuery selects calls.
type callQuery struct {
	Before  int64  `query:"before" doc:"only calls whose seq is smaller, for paging"`
	Limit   int64  `query:"limit" doc:"at most that many: 200, or up to 1000"`
	Tool    string `query:"tool" doc:"the called name, or that of the tool that ran"`
	Session string `query:"session"`
	Outcome string `query:"outcome" doc:"ok, error, refused, cancelled, running or interrupted"`
	Search  string `query:"q" doc:"words that all must appear in the row"`
}

// callList is a page of calls.
type callList struct {
	Calls []audit.Row `json:"calls"`
	// Head is the newest entry of the log: a stream of events resumes from there.
	Head int64 `json:"head"`
	// Next is where the next page begins, 0 where there is none.
	Next int64 `json:"next"`
	// Running are the signs of life of those that run here.
	Running []progress `json:"running"`
}

// maxScanned bounds how many rows a search looks at before it returns what it found.
const maxScanned = 20000

func (s *Server) listCalls(ctx context.Context, _ request, in callQuery) (callList, error) {
	list := callList{Calls: []audit.Row{}, Running: []progress{}}
	if follower, ok := s.opt.Audit.(audit.Follower); ok {
		var err error
		if list.Head, err = follower.Last(ctx); err != nil {
			return list, err
		}
	}
	limit := int(min(in.Limit, 1000))
	if limit <= 0 {
		limit = 200
	}
	words := strings.Fields(strings.ToLower(in.Search))
	scanned := 0
	f := audit.Filter{Before: in.Before, Tool: in.Tool, Session: in.Session, Outcome: in.Outcome}
	for row, err := range audit.Stream(ctx, s.opt.Audit, f) {
		if err != nil {
			return list, err
		}
		scanned++
		if len(list.Calls) == limit || scanned > maxScanned {
			break
		}
		list.Next = row.Seq
		if !fits(&row, words) {
			continue
		}
		list.Calls = append(list.Calls, row)
		if seen, ok := s.hub.live.look(row.Call); ok && seen.running {
			list.Running = append(list.Running, seen.state)
		}
	}
	if len(list.Calls) < limit && scanned <= maxScanned {
		list.Next = 0
	}
	return list, nil
}

// fits reports whether every word is somewhere in what people see of the row.
func fits(row *audit.Row, words []string) bool {
	if len(words) == 0 {
		return true
	}
	parts := append([]string{row.Call, row.Tool, row.Session, row.Reason, string(row.Args)}, row.Agents...)
	if row.Close != nil {
		parts = append(parts, row.Close.Title, row.Close.Error, string(row.Close.Code))
	}
	if row.Intent != nil {
		parts = append(parts, row.Intent.Tool)
	}
	text := strings.ToLower(strings.Join(parts, "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// callDetail is one call.
type callDetail struct {
	Row audit.Row `json:"row"`
	// Known says that the call was one of this process, so that output and result are there.
	Known  bool          `json:"known"`
	Output *outputNews   `json:"output,omitempty"`
	State  *progress     `json:"state,omitempty"`
	Result *tongs.Result `json:"result,omitempty"`
	// Question is what a person was asked about it, without secrets once it is over.
	Question *approval.Question `json:"question,omitempty"`
	Files    []callFile         `json:"files"`
	// Children are the calls that it made.
	Children []audit.Row `json:"children"`
	// Mine says that the call was made from the console, and runs: it can be cancelled.
	Mine bool `json:"mine"`
}

// callFile is a file that a call left.
type callFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

func (s *Server) showCall(ctx context.Context, r request, _ struct{}) (callDetail, error) {
	id := r.PathValue("id")
	d := callDetail{Files: s.callFiles(id), Children: []audit.Row{}}
	rows, err := s.opt.Audit.Rows(ctx, audit.Filter{Call: id, Limit: 1})
	if err != nil {
		return d, err
	}
	if len(rows) == 0 {
		return d, fmt.Errorf("call %q: %w", id, errNotFound)
	}
	d.Row = rows[0]
	if seen, ok := s.hub.live.look(id); ok {
		d.Known, d.Output, d.State, d.Result = true, &seen.output, &seen.state, seen.result
	}
	if d.Row.Intent != nil && d.Row.Intent.Question != "" {
		if q, err := s.opt.Questions.Get(ctx, d.Row.Intent.Question); err == nil {
			d.Question = &q
		}
	}
	d.Mine = s.tried.has(id)
	d.Children, err = s.children(ctx, &d.Row)
	return d, err
}

// children are the calls that a call made. They are in its session, and in the log after it.
func (s *Server) children(ctx context.Context, parent *audit.Row) ([]audit.Row, error) {
	found, scanned := []audit.Row{}, 0
	for row, err := range audit.Stream(ctx, s.opt.Audit, audit.Filter{Session: parent.Session, Since: parent.Started}) {
		if err != nil {
			return nil, err
		}
		if scanned++; scanned > maxScanned || row.Seq <= parent.Seq || len(found) >= 100 {
			break
		}
		if row.Parent == parent.Call {
			found = append(found, row)
		}
	}
	return found, nil
}

func (s *Server) cancelCall(_ context.Context, r request, _ struct{}) (done, error) {
	if !s.tried.cancel(r.PathValue("id")) {
		return done{}, fmt.Errorf("call %q does not run here, or was not made from the console: %w", r.PathValue("id"), errNotFound)
	}
	return done{true}, nil
}

// callDir is where the files of a call are, empty where there can be none.
func (s *Server) callDir(id string) string {
	if s.opt.Spill == "" || id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") || strings.ContainsAny(id, `/\`) {
		return ""
	}
	return filepath.Join(s.opt.Spill, id)
}

const maxFiles = 100

// callFiles lists what a call left.
func (s *Server) callFiles(id string) []callFile {
	list := []callFile{}
	dir := s.callDir(id)
	if dir == "" {
		return list
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return list // most calls leave nothing
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && len(list) < maxFiles {
			list = append(list, callFile{e.Name(), info.Size()})
		}
	}
	return list
}

// callFile sends a file that a call left, to be kept: what is in it is not ours, so it is never shown as a page.
func (s *Server) callFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	dir := s.callDir(r.PathValue("id"))
	f, err := openBelow(dir, name)
	if err != nil {
		writeError(w, fmt.Errorf("file %q of the call: %w", name, errors.Join(err, errNotFound)))
		return
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", attachment(filepath.Base(name)))
	h.Set("Cache-Control", "no-store")
	_, _ = io.Copy(w, f)
}

// openBelow opens a regular file in a directory; no name leads out of it.
func openBelow(dir, name string) (*os.File, error) {
	if dir == "" {
		return nil, os.ErrNotExist
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return root.Open(name)
}

// object is the JSON object of the arguments, {} where there are none.
func object(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	return args
}
