package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
)

// A version is "kind:identity" or "kind:identity:digest".
//
//	file:DEV.INO.SIZE.MTIME.CTIME.MODE[:SHA256]
//	directory:DEV.INO.MODE:SHA256 of its sorted entries
//	symlink:DEV.INO:TARGET
//	other:DEV.INO.MODE.MTIME.CTIME
//	absent
//
// A file's stat identity tells two states apart only where the clock moved between them: a second write within the
// clock's step leaves size and times as they are. So the content is part of the version of a file that changed less
// than racyWindow ago, as far as the clock tells. A version that was made later than that needs none: a change after
// it gets a later ctime, which no program can set.
//
// Small files have their content in the version always, and a file whose version once had it keeps it, so that the
// version of a file that does not change stays the same string while the window passes.
//
// v still holds if the identity is the same and, where v has a digest, the digest is. It does not matter whether v
// was made inside the window and is compared outside, or the other way round: see the cases in TestVersionWindow.
const (
	racyWindow  = 2 * time.Second
	alwaysHash  = 256 << 10
	weakHash    = 64 << 20 // on systems without inode and change time
	racyEntries = 1024
)

// changing is the digest of a file that was written to all the time while it was read. It holds for nothing.
const changing = "changing"

// state is a version taken apart.
type state struct {
	kind, identity, digest string
}

func (s state) version() tongs.Version {
	if s.kind == string(tongs.Absent) {
		return tongs.Absent
	}
	v := s.kind + ":" + s.identity
	if s.digest != "" {
		v += ":" + s.digest
	}
	return tongs.Version(v)
}

func parseVersion(v tongs.Version) state {
	kind, rest, _ := strings.Cut(string(v), ":")
	identity, digest, _ := strings.Cut(rest, ":")
	return state{kind: kind, identity: identity, digest: digest}
}

// holds reports whether what is in state now is what v was made of. An empty version holds for nothing. The digest of
// now must have been made where v has one.
func (now state) holds(v tongs.Version) bool {
	old := parseVersion(v)
	return v != "" && old.digest != changing && old.kind == now.kind && old.identity == now.identity &&
		(old.digest == "" || old.digest == now.digest)
}

// racyMemory remembers the identities whose versions were given out with a digest although the file is large.
type racyMemory struct {
	mu    sync.Mutex
	known []string
}

func (m *racyMemory) add(identity string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.known, identity) {
		return
	}
	if len(m.known) == racyEntries {
		m.known = slices.Delete(m.known, 0, racyEntries/2)
	}
	m.known = append(m.known, identity)
}

func (m *racyMemory) has(identity string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.known, identity)
}

// stateAt returns the state of what is at p. Where like has a digest, the result has one.
func (w *Workspace) stateAt(p tongs.Path, like tongs.Version) (state, error) {
	h, name, err := w.parent(p)
	if err == nil {
		defer h.close()
		return w.stateIn(h, name, like)
	}
	if missing(err) {
		return parseVersion(tongs.Absent), nil
	}
	return state{}, err
}

func (w *Workspace) stateIn(h handle, name string, like tongs.Version) (state, error) {
	st, err := h.lstat(name)
	if missing(err) {
		return parseVersion(tongs.Absent), nil
	}
	if err != nil {
		return state{}, err
	}
	s := identify(st)
	switch st.typ {
	case tongs.FileRegular:
		return w.fileState(h, name, st, like)
	case tongs.FileDirectory:
		s.digest, err = digestEntries(h, name)
	case tongs.FileSymlink:
		var target string
		target, err = h.readlink(name)
		s.digest = url.PathEscape(target)
	}
	return s, err
}

func (w *Workspace) fileState(h handle, name string, st stat, like tongs.Version) (state, error) {
	f, opened, err := h.open(name)
	if errors.Is(err, fs.ErrPermission) {
		// Nobody can tell its content; outside the window the stat identity is enough.
		if racy(st, time.Now()) || parseVersion(like).digest != "" {
			return state{}, tongs.Errorf(tongs.CodePermissionDenied,
				"%q changed just now and cannot be read, so that its state cannot be told; try again in a moment: %w",
				name, plain(err))
		}
		return identify(st), nil
	}
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	return w.openState(f, opened, like)
}

// openState returns the state of an open regular file.
func (w *Workspace) openState(f *os.File, st stat, like tongs.Version) (state, error) {
	for range 3 {
		s := identify(st)
		if !w.wantsDigest(st, s.identity) && parseVersion(like).digest == "" {
			return s, nil
		}
		sum := sha256.New()
		buf := make([]byte, min(st.size+1, 256<<10))
		n, err := io.CopyBuffer(sum, io.NewSectionReader(f, 0, st.size+1), buf)
		if err != nil {
			return state{}, err
		}
		s.digest = hex.EncodeToString(sum.Sum(nil))
		after, err := statFile(f)
		if err != nil {
			return state{}, err
		}
		if st.weak {
			after = weakened(after)
		}
		if n == st.size && identify(after).identity == s.identity {
			w.remember(st, s.identity)
			return s, nil
		}
		st = after // it was written to meanwhile
	}
	// Somebody writes to it all the time. Whatever we return is past already and will not hold.
	s := identify(st)
	s.digest = changing
	return s, nil
}

func (w *Workspace) wantsDigest(st stat, identity string) bool {
	if st.size <= alwaysHash || (st.weak && st.size <= weakHash) {
		return true
	}
	return racy(st, time.Now()) || w.racy.has(identity)
}

func (w *Workspace) remember(st stat, identity string) {
	if st.size > alwaysHash {
		w.racy.add(identity)
	}
}

// racy reports whether the file may change again without its times telling.
func racy(st stat, now time.Time) bool {
	return max(st.mtime, st.ctime) > now.Add(-racyWindow).UnixNano()
}

func weakened(st stat) stat {
	st.dev, st.ino, st.ctime, st.weak = 0, 0, 0, true
	return st
}

func identify(st stat) state {
	id := func(parts ...uint64) string {
		s := make([]string, len(parts))
		for i, p := range parts {
			s[i] = strconv.FormatUint(p, 36)
		}
		return strings.Join(s, ".")
	}
	s := state{kind: string(st.typ)}
	mode, mtime, ctime := uint64(st.mode), uint64(st.mtime), uint64(st.ctime)
	switch st.typ {
	case tongs.FileRegular:
		s.identity = id(st.dev, st.ino, uint64(st.size), mtime, ctime, mode)
	case tongs.FileDirectory:
		s.identity = id(st.dev, st.ino, mode)
	case tongs.FileSymlink:
		s.identity = id(st.dev, st.ino)
	default:
		s.identity = id(st.dev, st.ino, mode, mtime, ctime)
	}
	return s
}

// digestEntries identifies what is directly in a directory: names and types.
func digestEntries(h handle, name string) (string, error) {
	d, err := h.walk(name)
	if err != nil {
		return "", err
	}
	defer d.close()
	names, err := entries(d, 0)
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, n := range names {
		if strings.HasPrefix(n, tempPrefix) {
			continue // a replacement that is going on
		}
		st, err := d.lstat(n)
		if missing(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s\x00%s\x00", n, st.typ)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digesting hashes what passes through it on the way to a file.
type digesting struct {
	to  io.Writer
	sum hash.Hash
	// err is the error of the file.
	err error
}

func (d *digesting) Write(b []byte) (int, error) {
	n, err := d.to.Write(b)
	_, _ = d.sum.Write(b[:n])
	d.err = err
	return n, err
}

// Changed says in words how a file came from one version to another: "size 10 → 12, modified 3 s later".
func Changed(old, now tongs.Version) string {
	a, b := parseVersion(old), parseVersion(now)
	absent := string(tongs.Absent)
	switch {
	case old == now:
		return "unchanged"
	case old == "":
		return "nobody looked at it before"
	case a.kind == absent:
		return "it exists now"
	case b.kind == absent:
		return "it is gone"
	case a.kind != b.kind:
		return fmt.Sprintf("it was a %s and is a %s", a.kind, b.kind)
	}
	switch a.kind {
	case string(tongs.FileDirectory):
		return "its entries or its mode changed"
	case string(tongs.FileSymlink):
		from, _ := url.PathUnescape(a.digest)
		to, _ := url.PathUnescape(b.digest)
		if from != to {
			return fmt.Sprintf("it pointed to %q and points to %q", from, to)
		}
		return "it is another link"
	case string(tongs.FileRegular):
		return changedFile(a, b)
	default:
		return "it is another file"
	}
}

func changedFile(a, b state) string {
	x, y := fields(a.identity), fields(b.identity)
	if len(x) != 6 || len(y) != 6 {
		return "it is another file"
	}
	var say []string
	if x[0] != y[0] || x[1] != y[1] {
		say = append(say, "replaced by another file")
	}
	if x[2] != y[2] {
		say = append(say, fmt.Sprintf("size %d → %d", x[2], y[2]))
	}
	if d := time.Duration(int64(y[3]) - int64(x[3])); d > 0 {
		say = append(say, "modified "+rounded(d)+" later")
	} else if d < 0 {
		say = append(say, "modification time set back by "+rounded(-d))
	}
	if x[5] != y[5] {
		say = append(say, fmt.Sprintf("mode %s → %s", fs.FileMode(x[5]), fs.FileMode(y[5])))
	}
	if len(say) == 0 && a.digest != "" && b.digest != "" && a.digest != b.digest {
		say = append(say, "content changed within the step of the clock")
	}
	if len(say) == 0 {
		say = append(say, "its attributes changed")
	}
	return strings.Join(say, ", ")
}

func fields(identity string) []uint64 {
	var list []uint64
	for part := range strings.SplitSeq(identity, ".") {
		n, err := strconv.ParseUint(part, 36, 64)
		if err != nil {
			return nil
		}
		list = append(list, n)
	}
	return list
}

func rounded(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s"
	default:
		return max(d.Round(time.Millisecond), time.Millisecond).String()
	}
}
