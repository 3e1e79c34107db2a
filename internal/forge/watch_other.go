//go:build !linux

package forge

import "errors"

// watch would hear of changes in directories. Nothing does so here: they are looked at.
type watch struct{}

func newWatch([]string) (*watch, error) { return nil, errors.ErrUnsupported }

func (*watch) changedDirs() map[string]bool { return nil }

func (*watch) close() {}
