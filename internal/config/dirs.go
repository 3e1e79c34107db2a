package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/owned"
)

// The environment variables that name directories.
const (
	EnvConfigDir = "TONGS_CONFIG_DIR"
	EnvStateDir  = "TONGS_STATE_DIR"
	EnvCap       = "AGENT_WORKSPACE_ROOT"
)

// FindConfigDir returns the directory of the user's configuration: TONGS_CONFIG_DIR, or the usual place.
func FindConfigDir() (string, error) {
	if dir := os.Getenv(EnvConfigDir); dir != "" {
		return absolute(EnvConfigDir, dir)
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no directory for configuration: %w; set %s", err, EnvConfigDir)
	}
	return filepath.Join(dir, "tongs"), nil
}

// configDirOf returns the usual place of the configuration of the user with that home directory.
func configDirOf(home string) string {
	switch runtime.GOOS {
	case "darwin", "ios":
		return filepath.Join(home, "Library", "Application Support", "tongs")
	case "windows":
		return filepath.Join(home, "AppData", "Roaming", "tongs")
	default:
		return filepath.Join(home, ".config", "tongs")
	}
}

// FindStateDir returns the directory of questions, grants, the log and spilled output: TONGS_STATE_DIR, or the usual
// place. It does not make it.
func FindStateDir() (string, error) {
	if dir := os.Getenv(EnvStateDir); dir != "" {
		return absolute(EnvStateDir, dir)
	}
	switch runtime.GOOS {
	case "darwin", "ios", "windows":
		dir, err := localDir()
		if err != nil {
			return "", fmt.Errorf("no directory for state: %w; set %s", err, EnvStateDir)
		}
		return filepath.Join(dir, "tongs", "state"), nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tongs"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no directory for state: %w; set %s", err, EnvStateDir)
	}
	return filepath.Join(home, ".local", "state", "tongs"), nil
}

// OwnStateDir returns where the state of the user with that home directory usually is, whatever the environment says.
// Empty looks the home up in the user database.
func OwnStateDir(home string) (string, error) {
	home, err := OwnHome(home)
	if err != nil {
		return "", err
	}
	switch runtime.GOOS {
	case "darwin", "ios":
		return filepath.Join(home, "Library", "Application Support", "tongs", "state"), nil
	case "windows":
		return filepath.Join(home, "AppData", "Local", "tongs", "state"), nil
	default:
		return filepath.Join(home, ".local", "state", "tongs"), nil
	}
}

// OwnHome returns that home directory, or for an empty one the one that the user database has, whatever the environment says.
func OwnHome(home string) (string, error) {
	if home != "" {
		return home, nil
	}
	return passwdHome()
}

// SamePlace reports whether two paths lead to the same directory, as far as they exist.
func SamePlace(a, b string) bool { return samePlace(a, b) }

// localDir is for data that stays on this machine: Application Support, or LocalAppData.
func localDir() (string, error) {
	if runtime.GOOS == "windows" {
		return os.UserCacheDir()
	}
	return os.UserConfigDir()
}

func absolute(name, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s is %q; it must be an absolute path", name, dir)
	}
	return filepath.Clean(dir), nil
}

// MakeStateDir creates the state directory, private to its owner, or refuses one that others can write, or could put
// another in the place of.
func MakeStateDir(dir string) error {
	f, err := owned.MakeDir(dir)
	if err != nil {
		return failed(fmt.Errorf("state directory: %w", err))
	}
	defer f.Close()
	if err := tighten(f); err != nil {
		return failed(fmt.Errorf("state directory: %w", err))
	}
	return nil
}

// CheckStateDir refuses a state directory that others could have written. One that does not exist yet is fine.
func CheckStateDir(dir string) error {
	if err := owned.Check(dir, owned.User()); err != nil {
		return failed(fmt.Errorf("state directory: %w", err))
	}
	return nil
}

// FindWorkspace returns the workspace: dir, or the current directory where dir is empty. It must be inside the
// directory that AGENT_WORKSPACE_ROOT names, which is returned too, empty where there is none.
func FindWorkspace(dir string) (workspace, limit string, err error) {
	given := dir != ""
	if !given {
		if dir, err = os.Getwd(); err != nil {
			return "", "", failed(fmt.Errorf("no current directory: %w; use --workspace", err))
		}
	}
	if workspace, err = realDir(dir); err != nil {
		return "", "", failed(fmt.Errorf("workspace %s: %w", dir, err))
	}
	root := os.Getenv(EnvCap)
	if root == "" {
		return workspace, "", nil
	}
	if _, err := absolute(EnvCap, root); err != nil {
		return "", "", failed(err)
	}
	if limit, err = realDir(root); err != nil {
		return "", "", failed(fmt.Errorf("%s is %s: %w", EnvCap, root, err))
	}
	if !inside(workspace, limit) {
		what := "the current directory"
		if given {
			what = "the workspace"
		}
		return "", "", failed(fmt.Errorf("%s %s is outside %s (%s); name one inside it with --workspace",
			what, workspace, limit, EnvCap))
	}
	return workspace, limit, nil
}

func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			return "", pe.Err
		}
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errors.New("not a directory")
	}
	return real, nil
}

// Apart refuses private directories (configuration, state) that lie in the workspace, or the workspace in one of
// them: a tool that can write the workspace could then write its own rules.
func Apart(workspace string, private ...string) error {
	ws := resolveExisting(workspace)
	for _, dir := range private {
		if dir == "" {
			continue
		}
		p := resolveExisting(dir)
		if inside(p, ws) {
			return tongs.Errorf(tongs.CodeConfigError,
				"the workspace %s contains %s, which tools must not reach; choose a workspace below it, or move the directory with %s or %s",
				workspace, dir, EnvConfigDir, EnvStateDir)
		}
		if inside(ws, p) {
			return tongs.Errorf(tongs.CodeConfigError,
				"the workspace %s is inside %s, which tools must not reach; choose another workspace", workspace, dir)
		}
	}
	return nil
}

// resolveExisting follows the links of a path as far as it exists.
func resolveExisting(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for dir := path; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func samePlace(a, b string) bool { return b != "" && resolveExisting(a) == resolveExisting(b) }
