package search

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// enoughHints is how many files of a kind are counted for a hint.
const enoughHints = 100

// hints counts what a pattern that found nothing could have meant.
type hints struct {
	mu sync.Mutex
	// left are matches that are ignored or hidden, dirs directories that match, deeper are files that match deeper down.
	left, dirs, deeper int
}

// hint looks once more, at everything, when nothing was found: an agent that is told why need not guess.
func (s *globbing) hint(ctx context.Context, dir *tongs.Tree, opt walk.Options) error {
	h := &hints{}
	all := opt.Hidden && opt.NoIgnore
	opt.Hidden, opt.NoIgnore, opt.Dirs = true, true, true
	opt.Skipped = nil
	opt.Skip = func(rel string, isDir bool) bool {
		return isDir && (rel == ".git" || strings.HasSuffix(rel, "/.git")) || dir.Skip(rel, isDir)
	}
	err := walk.Walk(ctx, opt, func(e *walk.Entry) error { return h.count(s, e) })
	if err != nil {
		return err
	}
	switch {
	case h.left > 0 && !all:
		s.notes = append(s.notes, fmt.Sprintf("%s ignored or hidden; set noIgnore or includeHidden to find them", several(h.left, "matching file is", "matching files are")))
	case h.dirs > 0:
		s.notes = append(s.notes, fmt.Sprintf("%s; glob finds files, list_directory shows directories", several(h.dirs, "directory matches", "directories match")))
	case h.deeper > 0:
		s.notes = append(s.notes, fmt.Sprintf("the pattern is about %s alone; **/%s finds %s deeper down",
			show(s.dir.String()), show(s.in.Pattern), several(h.deeper, "file", "files")))
	}
	return nil
}

func several(n int, one, many string) string {
	if n >= enoughHints {
		return fmt.Sprintf("%d or more %s", n, many)
	}
	return count(n, one, many)
}

func (h *hints) count(s *globbing, e *walk.Entry) error {
	matches := s.glob.Match(e.Rel)
	deeper := !matches && e.Type == walk.File && s.deeper != nil && s.deeper.Match(e.Rel)
	if !matches && !deeper {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case deeper:
		h.deeper++
	case e.Type == walk.Directory:
		h.dirs++
	default:
		h.left++
	}
	if h.left >= enoughHints || h.left == 0 && h.dirs+h.deeper >= 10*enoughHints {
		return fs.SkipAll
	}
	return nil
}

// output writes what was found.
func (s *globbing) output() GlobOutput {
	list := s.best.first()
	out := GlobOutput{Paths: make([]string, len(list)), Total: s.best.count(), title: s.in.Pattern, metadata: map[string]any{}}
	out.Truncated = out.Total > len(list)
	var b strings.Builder
	for i, f := range list {
		if out.Paths[i] = f.path; f.path == "" {
			out.Paths[i] = s.path(f.rel)
		}
		b.WriteString(show(out.Paths[i]) + "\n")
	}
	if out.Total == 0 {
		fmt.Fprintf(&b, "[no file matches %s in %s]\n", show(s.in.Pattern), show(s.dir.String()))
	}
	if out.Truncated {
		order, advice := "newest first", "narrow the pattern or the path"
		if s.in.Sort == "path" {
			order = "by path"
		}
		if s.limit < s.most {
			advice = fmt.Sprintf("set limit (%d at most), or narrow the pattern or the path", s.most)
		}
		fmt.Fprintf(&b, "[%d of %d files shown, %s; %s]\n", len(list), out.Total, order, advice)
	}
	for _, note := range s.notes {
		fmt.Fprintf(&b, "[%s]\n", note)
	}
	if left := s.leftOut(); left != "" {
		out.metadata["withheld"] = left
		fmt.Fprintf(&b, "[left out: %s, as secrets, other roots or what a rule covers; name one to ask for it]\n", left)
	}
	if s.unread > 0 {
		out.metadata["unreadable"] = s.skipped
		fmt.Fprintf(&b, "[%s could not be read, such as %s]\n", count(s.unread, "directory", "directories"), show(s.skipped[0]))
	}
	out.shown = strings.TrimSuffix(b.String(), "\n")
	return out
}

// leftOut says how much is not for this call.
func (s *globbing) leftOut() string { return leftOut(s.withheld.Load(), s.closed.Load()) }

// leftOut counts files and directories: "2 files, 1 directory".
func leftOut(files, directories int64) string {
	var parts []string
	if files > 0 {
		parts = append(parts, count(int(files), "file", "files"))
	}
	if directories > 0 {
		parts = append(parts, count(int(directories), "directory", "directories"))
	}
	return strings.Join(parts, ", ")
}
