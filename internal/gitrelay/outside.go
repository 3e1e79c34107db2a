package gitrelay

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// ofRepository are variables that tell git which repository it works on, or what to run.
var ofRepository = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_TERMINAL_PROMPT", "GIT_PROTOCOL",
}

// userEnv is the user's environment for a program that is started in dir, which no repository is around.
func (r *Relay) userEnv(dir string) []string {
	env := slices.DeleteFunc(slices.Clone(r.opt.Environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(ofRepository, name) || strings.HasPrefix(name, "GIT_TRACE")
	})
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "PWD="+dir)
}

// scratch makes a private directory and returns what removes it.
func (r *Relay) scratch() (dir string, remove func(), err error) {
	if r.opt.Dir == "" {
		return "", nil, tongs.Errorf(tongs.CodeConfigError, "there is no place for what git transfers in this program")
	}
	if err := os.MkdirAll(r.opt.Dir, 0o700); err != nil {
		return "", nil, err
	}
	r.sweep()
	if dir, err = os.MkdirTemp(r.opt.Dir, scratchPrefix); err != nil {
		return "", nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// scratchPrefix is how the names of private directories begin, and scratchTime how long one can be in use.
const (
	scratchPrefix = "git-"
	scratchTime   = 24 * time.Hour
)

// sweep removes what processes left that were killed.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), scratchPrefix) && time.Since(info.ModTime()) > scratchTime {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// helperTime is how long a program of the user's may take to give a credential or a setting.
const helperTime = 2 * time.Minute

// userGit runs git with the user's own settings, and with those of no repository.
func (r *Relay) userGit(ctx context.Context, input string, args ...string) (string, error) {
	dir, remove, err := r.scratch()
	if err != nil {
		return "", err
	}
	defer remove()
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, r.userEnv(dir), strings.NewReader(input)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return string(out), err
}

// ownGit runs git with no settings at all, on a repository of ours.
func ownGit(ctx context.Context, dir string, input []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_DIR=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C",
	}
	cmd.Stdin = bytes.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil && said.Len() > 0 {
		last := strings.TrimSpace(said.String())
		err = tongs.Errorf(tongs.CodeExecutionError, "%s", last[strings.LastIndexByte(last, '\n')+1:])
	}
	return out, err
}
