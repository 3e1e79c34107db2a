package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/tongs-ai/tongs"
)

// fail turns an error of the system into one with a code and a sentence about p.
func fail(op string, p tongs.Path, err error) error {
	if _, ok := errors.AsType[*tongs.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*tongs.Need](err); ok {
		return err
	}
	code, say := explain(err)
	return tongs.Errorf(code, "cannot %s %q: %s%w", op, p.String(), say, causeOf{plain(err)})
}

// causeOf is kept for Unwrap, and adds nothing to the message where explain said it already.
type causeOf struct{ error }

func (c causeOf) Error() string {
	if _, say := explain(c.error); say != "" {
		return ""
	}
	return c.error.Error()
}

func (c causeOf) Unwrap() error { return c.error }

func explain(err error) (tongs.Code, string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return tongs.CodeTimeout, "the time is up"
	case errors.Is(err, context.Canceled):
		return tongs.CodeCancelled, "the call was cancelled"
	case errors.Is(err, errLink):
		return tongs.CodeInvalidPath, "a symbolic link is on the way that was not there before; resolve the path again"
	case errors.Is(err, errNotRegular):
		return tongs.CodeInvalidPath, "it is not a regular file but a FIFO, a socket or a device"
	case errors.Is(err, syscall.EISDIR):
		return tongs.CodeInvalidPath, "it is a directory; name a file"
	case errors.Is(err, syscall.ENOTDIR):
		return tongs.CodeInvalidPath, "a part of it is a file, not a directory"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return tongs.CodeInvalidPath, "the name is too long for the file system"
	case errors.Is(err, syscall.ELOOP):
		return tongs.CodeInvalidPath, "too many symbolic links"
	case errors.Is(err, syscall.ENOTEMPTY):
		return tongs.CodeNotEmpty, "the directory is not empty"
	case errors.Is(err, fs.ErrNotExist):
		return tongs.CodeFileNotFound, "it does not exist"
	case errors.Is(err, fs.ErrExist):
		return tongs.CodeAlreadyExists, "it exists already"
	case errors.Is(err, syscall.EROFS):
		return tongs.CodePermissionDenied, "the file system is read-only"
	case errors.Is(err, fs.ErrPermission):
		return tongs.CodePermissionDenied, "the system does not permit it"
	case errors.Is(err, syscall.ENOSPC):
		return tongs.CodeExecutionError, "no space is left on the device"
	case errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EBADF):
		return tongs.CodeExecutionError, "the file or the workspace was closed"
	default:
		return tongs.CodeExecutionError, ""
	}
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func badPath(format string, args ...any) *tongs.Error {
	return tongs.Errorf(tongs.CodeInvalidPath, format, args...)
}
