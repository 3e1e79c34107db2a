// Package notify tells a person at the desktop that a question waits. It says no more than the headline of the question, waits for
// nothing, and where there is no desktop it does nothing.
package notify

import (
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/question"
)

// Desktop is a channel that answers nothing: it shows a notification where a question is not answered at once.
type Desktop struct {
	// Env are the variables of the process, as os.Environ gives them; Dirs are searched for the program that notifies.
	Env  []string
	Dirs []string
}

// New returns the channel for this process.
func New() *Desktop {
	return &Desktop{Env: os.Environ(), Dirs: []string{"/usr/bin", "/bin", "/usr/local/bin"}}
}

const (
	// after is how long a question waits before the notification: one that is answered at once shows none.
	after = 2 * time.Second
	// limit is how long the program may take.
	limit = 5 * time.Second
)

// Ask implements approval.Channel. It returns at once, and has no answer.
func (d *Desktop) Ask(ctx context.Context, q approval.Question) (*approval.Answer, error) {
	argv := d.command(&q)
	if argv == nil {
		return nil, nil
	}
	go func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = d.Env
		_ = cmd.Run() // the question waits all the same
	}()
	return nil, nil
}

// command is what shows the headline of a question, nil where there is no desktop to show it on.
func (d *Desktop) command(q *approval.Question) []string {
	what, where := question.What(q), question.Of(q).Headline.Where()
	switch runtime.GOOS {
	case "darwin":
		if program := d.find("osascript"); program != "" {
			return []string{program, "-e", "display notification " + strconv.Quote(where) + " with title \"Tongs\" subtitle " + strconv.Quote(what)}
		}
	case "linux", "freebsd", "openbsd", "netbsd":
		if program := d.find("notify-send"); program != "" && d.session() {
			return []string{program, "--app-name=Tongs", "--", "Tongs: " + what, html.EscapeString(where)}
		}
	}
	return nil
}

func (d *Desktop) find(name string) string {
	for _, dir := range d.Dirs {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// session reports whether the process belongs to a desktop.
func (d *Desktop) session() bool {
	for _, v := range d.Env {
		for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS=", "DISPLAY=", "WAYLAND_DISPLAY="} {
			if len(v) > len(name) && v[:len(name)] == name {
				return true
			}
		}
	}
	return false
}
