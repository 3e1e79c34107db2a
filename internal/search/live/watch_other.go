//go:build !linux

package live

import (
	"errors"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// watcher does not exist on this system: every root is in strict mode.
type watcher struct{}

func newWatcher() (*watcher, error) {
	return nil, errors.New("this system has no events that can be waited for")
}

func (*watcher) close() {}

func (*watcher) dir(walk.Folder) (int32, error) { return 0, errors.ErrUnsupported }

func (*watcher) file(string) (int32, error) { return 0, errors.ErrUnsupported }

func (*watcher) remove(int32) {}

func (*watcher) read(func(event)) error { return nil }

func maxWatches() int { return 1 }

func isMissing(error) bool { return false }

func (*root) remoteCheck(walk.Folder) {}
