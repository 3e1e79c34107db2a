package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox"
)

// unzoned are places of which no zone is suggested: those of the system, and those that hold everything.
var unzoned = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/lib", "/var/run"}

var zoneName = regexp.MustCompile(`[^a-z0-9_-]+`)

// outside says what to do about the paths outside of the roots that a program was kept from. Nobody can be asked for
// them: a zone is for a person to configure.
func (p *process) outside(res *sandbox.Result) (hints []string) {
	if res.ExitCode == 0 {
		return nil
	}
	zones := map[string]bool{}
	for _, d := range res.Report.Denied {
		if d.Path == "" || d.Path == p.cmd.Argv[0] { // a shell begins its complaints with its own name
			continue
		}
		if _, err := p.place(d.Path, false); err == nil {
			continue
		}
		hint := d.Path + " is outside of the workspace and its zones, so that commands cannot " + d.Kind + " it"
		if dir, ok := p.zoneFor(d.Path); ok && !zones[dir] {
			zones[dir] = true
			mode := "ro"
			if d.Kind == "write" {
				mode = "rw"
			}
			name := strings.Trim(zoneName.ReplaceAllString(strings.ToLower(filepath.Base(dir)), "-"), "-")
			if name == "" {
				name = "outside"
			}
			hint += fmt.Sprintf("; a person can make it a zone in their config.yaml with\nzones:\n  %s: {path: %q, mode: %s}", name, dir, mode)
		}
		hints = append(hints, hint)
	}
	return hints
}

// zoneFor returns the directory to make a zone of for a path, if that is a good idea.
func (p *process) zoneFor(host string) (string, bool) {
	dir := host
	if info, err := os.Stat(host); err != nil || !info.IsDir() {
		dir = filepath.Dir(host)
	}
	below := func(top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }
	home, _ := os.UserHomeDir()
	if strings.Count(dir, "/") < 2 || dir == home || slices.ContainsFunc(unzoned, below) {
		return "", false
	}
	at := tongs.Path{Rel: strings.TrimPrefix(filepath.ToSlash(host), "/")}
	_, secret := p.opt.Workspace.Secret(at)
	_, protected := p.opt.Workspace.Protected(at)
	return dir, !secret && !protected
}
