package launch

import (
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// errOverlay marks what the kernel refused about an overlay.
var errOverlay = errors.New("overlay")

// overlay mounts an overlay. Its layers were mounted below m.Source, for the kernel takes them only from there, and are
// gone from the tree afterwards: nothing but the overlay reaches them.
func (b *builder) overlay(m *Mount) error {
	lower, layer := m.Source+"/lower", m.Source+"/layer"
	below, dirs := b.at+lower, []string{lower, layer}
	if base := m.Source + "/base"; m.Tree == 1 {
		below, dirs = below+":"+b.at+base, append(dirs, base)
	}
	fs, err := newOverlay(below, b.at+layer+"/upper", b.at+layer+"/work", int(m.Attr))
	if err != nil {
		return errors.Join(errOverlay, err)
	}
	defer unix.Close(fs)
	for _, dir := range dirs {
		if err := unix.Unmount(b.at+dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return step("detaching "+dir, err)
		}
		if err := unix.Rmdir(b.at + dir); err != nil {
			return step("removing "+dir, err)
		}
	}
	if err := unix.Rmdir(b.at + m.Source); err != nil {
		return step("removing "+m.Source, err)
	}
	return b.attach(fs, m.Target)
}

// newOverlay makes an overlay that is not mounted anywhere yet. It writes nothing through to the disk by itself: what is
// in the upper layer of a machine that failed is of no use to anybody.
func newOverlay(lower, upper, work string, attr int) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for _, o := range [][2]string{{"lowerdir", lower}, {"upperdir", upper}, {"workdir", work}, {"userxattr"}, {"volatile"}} {
		if o[1] == "" {
			err = unix.FsconfigSetFlag(fs, o[0])
		} else {
			err = unix.FsconfigSetString(fs, o[0], o[1])
		}
		if err != nil {
			return -1, complaint(fs, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, complaint(fs, err)
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
}

// complaint adds to an error what the kernel says of it.
func complaint(fs int, err error) error {
	var buf [1024]byte
	if n, readErr := unix.Read(fs, buf[:]); readErr == nil && n > 2 {
		return step(strings.TrimSpace(string(buf[2:n])), err)
	}
	return err
}

// waitPast waits until the clock that files are stamped by is past a time: what changes then has a later stamp.
func waitPast(mark int64) error {
	for mark > 0 {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			return step("reading the clock", err)
		}
		// A mark far ahead is a clock that was set back meanwhile.
		if now.Nano() > mark || mark-now.Nano() > int64(time.Second) {
			return nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return nil
}
