package tooltest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs"
)

// wrap returns the tool with another Call, and the abilities that it had.
func wrap(tool tongs.Tool, call func(context.Context, *tongs.Env, *tongs.Call) (*tongs.Result, error)) tongs.Tool {
	w := wrapped{tool, call}
	if planner, ok := tool.(tongs.Planner); ok {
		return wrappedPlanner{w, planner}
	}
	return w
}

type wrapped struct {
	tongs.Tool
	call func(context.Context, *tongs.Env, *tongs.Call) (*tongs.Result, error)
}

func (w wrapped) Call(ctx context.Context, env *tongs.Env, call *tongs.Call) (*tongs.Result, error) {
	return w.call(ctx, env, call)
}

type wrappedPlanner struct {
	wrapped
	tongs.Planner
}

// tree describes everything below a directory: names, modes, times and contents.
func (s *suite) tree(dir string) map[string]string {
	s.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(dir, path)
		tree[rel] = fmt.Sprint(info.Mode(), " ", info.ModTime().UnixNano(), " ", content)
		return err
	})
	if err != nil {
		s.Fatalf("%v", err)
	}
	return tree
}

// unchanged fails the test for everything in dir that is not as it was.
func (s *suite) unchanged(before map[string]string, dir, by string) {
	s.Helper()
	now := s.tree(dir)
	for _, name := range sortedKeys(before) {
		if _, ok := now[name]; !ok {
			s.Errorf("%s removed %s", by, name)
		} else if now[name] != before[name] {
			s.Errorf("%s changed %s", by, name)
		}
	}
	for _, name := range sortedKeys(now) {
		if _, ok := before[name]; !ok {
			s.Errorf("%s made %s", by, name)
		}
	}
}
