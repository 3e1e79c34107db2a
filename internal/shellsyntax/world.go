package shellsyntax

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"strings"

	"github.com/tongs-ai/tongs"
)

// maxHashed is the largest program that is bound by its content, in bytes.
const maxHashed = 256 << 20

// ViewWorld returns the world that a command meets in the directory of the view. The caller adds what it knows of the
// shell: LookPath, Home, Var and Scratch.
//
// A zone is named by its path on the host here, as a shell names it, unless it is mounted under its own name.
func ViewWorld(files tongs.FileView) World {
	inRoot := func(resolve func(string) (tongs.Path, error)) func(string) (tongs.Path, error) {
		return func(spelling string) (tongs.Path, error) {
			p, err := resolve(spelling)
			if err != nil || p.Root == tongs.WorkspaceRoot || !path.IsAbs(spelling) {
				return p, err
			}
			name := "/" + p.Root
			clean := path.Clean(spelling)
			if (clean == name || strings.HasPrefix(clean, name+"/")) && files.Host(tongs.Path{Root: p.Root, Rel: "."}) != name {
				return tongs.Path{}, tongs.Errorf(tongs.CodeInvalidPath, "path %q is a zone, which commands know by another name",
					spelling)
			}
			return p, nil
		}
	}
	return World{
		Resolve:      inRoot(files.Resolve),
		ResolveEntry: inRoot(files.ResolveEntry),
		IsDir: func(p tongs.Path) bool {
			info, err := files.Stat(p)
			return err == nil && info.Type == tongs.FileDirectory
		},
		Hash: func(p tongs.Path) (tongs.Version, error) { return hashFile(files, p) },
		Read: func(p tongs.Path) (string, error) { return ReadText(files, p) },
	}
}

// maxFollowed is the largest file whose text is followed.
const maxFollowed = 1 << 20

// ReadText returns the text of a file for World.Read. One that is large is not followed.
func ReadText(files tongs.FileView, p tongs.Path) (string, error) {
	f, err := files.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFollowed+1))
	if err == nil && len(data) > maxFollowed {
		err = tongs.Errorf(tongs.CodeTooLarge, "%q is more than %d bytes long, too large to be followed", p.String(), maxFollowed)
	}
	return string(data), err
}

// hashFile returns the content hash of a file.
func hashFile(files tongs.FileView, p tongs.Path) (tongs.Version, error) {
	f, err := files.Open(p)
	if tongs.CodeOf(err) == tongs.CodeFileNotFound {
		return tongs.Absent, nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxHashed+1))
	if err != nil {
		return "", err
	}
	if n > maxHashed {
		return "", tongs.Errorf(tongs.CodeTooLarge, "%q is more than %d bytes long, too large to be bound by its content",
			p.String(), maxHashed)
	}
	return tongs.Version("sha256:" + hex.EncodeToString(sum.Sum(nil))), nil
}
