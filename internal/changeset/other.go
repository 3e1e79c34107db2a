//go:build !linux

package changeset

import (
	"context"
	"errors"
	"io/fs"

	"github.com/tongs-ai/tongs/workspace/journal"
)

const noFollow = 0

var errPlatform = errors.New("outcome runs exist on Linux only")

func (s *Set) read(context.Context, int) error { return errPlatform }

func (s *Set) checks(context.Context, []*Change) func() ([]journal.Conflict, error) {
	return func() ([]journal.Conflict, error) { return nil, errPlatform }
}

func bare(string, fs.FileMode) bool { return false }
