package gitdir_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// split takes the name of a variable apart, as git does.
func split(name string) gitdir.Setting {
	first, last := strings.Index(name, "."), strings.LastIndex(name, ".")
	s := gitdir.Setting{Section: strings.ToLower(name[:first]), Name: strings.ToLower(name[last+1:])}
	if first < last {
		s.Sub = name[first+1 : last]
	}
	return s
}

func TestEveryVariableOfGitIsClassified(t *testing.T) {
	out, err := exec.Command("git", "help", "--config").Output()
	if err != nil {
		t.Fatal(err)
	}
	names, placeholder := 0, regexp.MustCompile(`<[^>]*>`)
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		if name == "" || strings.Contains(name, " ") {
			continue
		}
		names++
		family, all := strings.CutSuffix(placeholder.ReplaceAllString(name, "x"), ".*")
		switch section, _, _ := strings.Cut(family, "."); {
		case !all:
		case section == "bundle": // each of its variables is printed by itself, too
			continue
		default:
			family = section + ".x"
			if section != "alias" && section != "feature" {
				continue // http.<url>.*: classified like http.*
			}
		}
		if _, known := gitdir.ClassOf(split(family)); !known {
			t.Errorf("git's variable %s is not in the table: look up what git does with it", name)
		}
	}
	if names < 500 {
		t.Errorf("git printed %d variables only", names)
	}
}

func TestClasses(t *testing.T) {
	for name, want := range map[string]gitdir.Class{
		"core.hooksPath": gitdir.Hooks, "CORE.HOOKSPATH": gitdir.Hooks, "core.fsmonitor": gitdir.Runs, "filter.My.Own.clean": gitdir.Runs,
		"diff.x.command": gitdir.Runs, "diff.x.textconv": gitdir.Runs, "diff.x.binary": gitdir.Plain, "alias.st": gitdir.Runs, "alias.x.command": gitdir.Runs,
		"credential.https://example.com/a.b.helper": gitdir.Runs, "credential.https://example.com.username": gitdir.Plain,
		"http.https://example.com.sslCAInfo": gitdir.Obeys, "http.proxy": gitdir.Plain, "remote.origin.url": gitdir.Place,
		"remote.o.uploadpack": gitdir.Runs, "url.ext::sh.insteadOf": gitdir.Place, "includeIf.gitdir:~/x/.path": gitdir.Include,
		"include.path": gitdir.Include, "init.templateDir": gitdir.Template, "core.attributesFile": gitdir.Obeys,
		"pager.log": gitdir.Runs, "gpg.ssh.program": gitdir.Runs, "gpg.ssh.allowedSignersFile": gitdir.Obeys,
		"lfs.customtransfer.x.path": gitdir.Runs, "annex.command": gitdir.Runs, "core.somethingNew": gitdir.Runs, "color.diff.meta": gitdir.Plain,
		"sendemail.work.smtpServer": gitdir.Runs, "sendemail.work.sendmailCmd": gitdir.Runs, "submodule.a/b.update": gitdir.Runs,
	} {
		if got, _ := gitdir.ClassOf(split(name)); got != want {
			t.Errorf("%s is of class %d, want %d", name, got, want)
		}
	}
}
