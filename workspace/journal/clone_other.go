//go:build !linux

package journal

import (
	"errors"
	"os"
)

func clone(_, _ *os.File) error { return errors.ErrUnsupported }

func syncAll(dir *os.File) error { return dir.Sync() }

func keepAttributes(_, _ *os.File) {}

func hasAttributes(*os.File) bool { return false }
