package wire

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitrelay"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/tools/git"
	"github.com/tongs-ai/tongs/tools/shell"
)

// gitRelay makes the transfers of git in commands.
func (s *System) gitRelay(repository string) *gitrelay.Relay {
	if repository == "" {
		repository = filepath.Join(s.Place.Workspace, ".git")
	}
	dir := filepath.Join(s.StateDir, "git")
	return gitrelay.New(gitrelay.Options{
		Dir: dir,
		SSH: func() (command, program string, err error) { return sandbox.GitSSH(dir) },
		Remotes: func(ctx context.Context) []string {
			return configuredRemotes(ctx, filepath.Join(repository, "config"))
		},
	})
}

// gitTools are the tools of git, which run it as commands do.
func gitTools(running shell.Options) ([]tongs.Tool, error) {
	return git.Tools(git.Options{
		Full: running.Full, Relayed: running.Relayed, Scratch: running.Scratch, Shown: running.Shown, Timeout: running.Timeout,
	})
}

// configuredRemotes are the addresses in the configuration of a repository, without what that includes. Commands cannot change
// the file unless a person agreed.
func configuredRemotes(ctx context.Context, file string) (list []string) {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "config", "--file", file, "--no-includes", "-z", "--get-regexp", `^(remote\..*\.(url|pushurl)|submodule\..*\.url)$`)
	cmd.Dir = "/" // in no repository
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if _, address, ok := strings.Cut(entry, "\n"); ok {
			list = append(list, address)
		}
	}
	return list
}
