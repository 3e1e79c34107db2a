package engine

import (
	"context"
	"io"
	"iter"

	"github.com/tongs-ai/tongs"
)

// noFiles refuses, where the engine has no workspace.
type noFiles struct{}

var errNoFiles = tongs.Errorf(tongs.CodeConfigError, "this program has no workspace, so tools have no files")

func (noFiles) Resolve(string) (tongs.Path, error)        { return tongs.Path{}, errNoFiles }
func (noFiles) ResolveEntry(string) (tongs.Path, error)   { return tongs.Path{}, errNoFiles }
func (noFiles) Stat(tongs.Path) (tongs.FileInfo, error)   { return tongs.FileInfo{}, errNoFiles }
func (noFiles) Version(tongs.Path) (tongs.Version, error) { return "", errNoFiles }
func (noFiles) Open(tongs.Path) (tongs.File, error)       { return nil, errNoFiles }
func (noFiles) Host(tongs.Path) string                    { return "" }
func (noFiles) ReadDir(tongs.Path) iter.Seq2[tongs.FileInfo, error] {
	return func(yield func(tongs.FileInfo, error) bool) { yield(tongs.FileInfo{}, errNoFiles) }
}

func (noFiles) Replace(context.Context, tongs.Path, tongs.Replacing, func(io.Writer) error) (tongs.Version, error) {
	return "", errNoFiles
}

func (noFiles) Remove(context.Context, tongs.Path, bool) ([]tongs.Path, error) {
	return nil, errNoFiles
}

func (noFiles) Rename(context.Context, tongs.Path, tongs.Path, tongs.Renaming) error {
	return errNoFiles
}
