// Package config reads the configuration files into one struct: the administrator's policy, the user's own file and
// the workspace's, each a layer with less authority than the one before. Every word about approval becomes a
// [tongs.Rule] that says where it stands.
//
// Reading is strict: a file that cannot be read or understood, or that somebody else than its owner could have written,
// is an error, never an absent one. A workspace file that is not trusted can only narrow what the other layers allow.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/owned"
)

// The names of the files.
const (
	ManagedFile   = "policy.yaml"
	UserFile      = "config.yaml"
	WorkspaceFile = "tongs.yaml"
)

// Options say which files to read. Nothing in them comes from the environment but by the caller's hand.
type Options struct {
	// Workspace is the directory whose tongs.yaml is the workspace layer; empty means there is none.
	Workspace string
	// ConfigDir is the directory of the user's config.yaml; empty means that of [FindConfigDir].
	ConfigDir string
	// Unattended is set by surfaces that a program starts rather than a person (an MCP server, a daemon). The user
	// layer is then found through the user database, and a directory that the environment names can only narrow.
	Unattended bool
	// Own says that the program itself names ConfigDir, so that it counts as the user's own, also unattended.
	Own bool
	// Mode is what the person asks for on the command line; nil means nothing. Unattended, it can only narrow.
	Mode *tongs.Mode
	// Trusted reports whether a person vouched for the workspace file with this content. Nil means for none.
	Trusted func(path, hash string) bool
	// Managed is the path of the administrator's file; empty means [ManagedPath]. It is for tests and for builds
	// that keep it elsewhere; no environment variable can set it.
	Managed string
	// ManagedOwner is the user that must own that file; zero is root.
	ManagedOwner int
	// Home is the home directory of the user database; empty means to look it up.
	Home string
}

// Notify is how a person is told that a question waits: by a notification of the desktop, the bell of the terminal, both ("all") or not at all.
type Notify string

// Desktop reports whether the desktop shows a notification, Bell whether the terminal rings.
func (n Notify) Desktop() bool { return n != "bell" && n != "none" }

// Bell reports whether the terminal rings.
func (n Notify) Bell() bool { return n != "desktop" && n != "none" }

// Config is the merged configuration.
type Config struct {
	// Mode is the effective mode.
	Mode tongs.Mode
	// ClientsApprove lets an MCP client approve what must be asked of its own calls.
	ClientsApprove bool
	// AskLater refuses what would be asked, and keeps the question for a person to answer later.
	AskLater bool
	// Notify is how a person is told that a question waits.
	Notify Notify
	// Rules are those of every layer, the most authority first.
	Rules []tongs.Rule
	// Granted are the permissions that tools may have.
	Granted   tongs.Permissions
	Zones     []Zone
	Limits    Limits
	Retention Retention
	Audit     Audit
	Sandbox   Sandbox
	Web       Web
	SQL       []SQLConnection
	// Descriptions is a directory of texts that replace tools' long descriptions; empty means none.
	Descriptions string
	// Offer are extra tools and toolsets that clients are told of.
	Offer    []string
	Toolsets Toolsets
	// Files are the files that were looked for, the most authority first.
	Files []File
	// Ignored are the words that do not count, and why.
	Ignored []Ignored

	origins map[string]string
}

// Zone is a root besides the workspace.
type Zone struct {
	Name string `json:"name"`
	// Dir is absolute.
	Dir      string      `json:"dir"`
	Writable bool        `json:"writable"`
	Layer    tongs.Layer `json:"-"`
	Origin   string      `json:"origin"`
}

// File is a configuration file that was looked for.
type File struct {
	Layer tongs.Layer
	Path  string
	// Found is false where there is no such file, which is fine.
	Found bool
	// Hash identifies the content: "sha256:" and hex digits.
	Hash string
	// Narrows is set for a file that is not trusted: it can only narrow.
	Narrows bool
}

// Ignored is a word that does not count.
type Ignored struct {
	Origin string `json:"origin"`
	What   string `json:"what"`
	Why    string `json:"why"`
}

// Load reads the files and merges them. Every failure is CONFIG_ERROR; a [Problem] says where it is.
func Load(opt Options) (*Config, error) {
	files, err := opt.files()
	if err != nil {
		return nil, failed(err)
	}
	var layers []*layer
	var errs []error
	for i := range files {
		l, err := opt.load(&files[i])
		if err != nil {
			errs = append(errs, err)
		} else if l != nil {
			layers = append(layers, l)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, failed(err)
	}
	c := merge(layers, opt)
	c.Files = files
	return c, nil
}

func failed(err error) error { return tongs.Errorf(tongs.CodeConfigError, "%w", err) }

// files lists the files to read.
func (opt *Options) files() ([]File, error) {
	if opt.Managed == "" {
		opt.Managed = ManagedPath()
	}
	var files []File
	if opt.Managed != "" {
		files = append(files, File{Layer: tongs.LayerManaged, Path: opt.Managed})
	}
	users, err := opt.userFiles()
	if err != nil {
		return nil, err
	}
	files = append(files, users...)
	if opt.Workspace != "" {
		dir, err := filepath.Abs(opt.Workspace)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Layer: tongs.LayerWorkspace, Path: filepath.Join(dir, WorkspaceFile)})
	}
	return files, nil
}

// userFiles returns the user's own file and, unattended, the one that the environment names, which can only narrow.
func (opt *Options) userFiles() ([]File, error) {
	named := opt.ConfigDir
	if named == "" {
		dir, err := FindConfigDir()
		switch {
		case err == nil:
			named = dir
		case !opt.Unattended:
			return nil, err
		}
	}
	if !opt.Unattended || opt.Own && opt.ConfigDir != "" {
		return []File{{Layer: tongs.LayerUser, Path: filepath.Join(named, UserFile)}}, nil
	}
	var files []File
	own := ""
	if home, err := opt.home(); err == nil {
		own = configDirOf(home)
		files = append(files, File{Layer: tongs.LayerUser, Path: filepath.Join(own, UserFile)})
	}
	if named != "" && !samePlace(named, own) {
		files = append(files, File{Layer: tongs.LayerUser, Path: filepath.Join(named, UserFile), Narrows: true})
	}
	return files, nil
}

func (opt *Options) home() (string, error) {
	if opt.Home != "" {
		return opt.Home, nil
	}
	return passwdHome()
}

// load reads one file; nil means that there is none.
func (opt *Options) load(f *File) (*layer, error) {
	data, err := opt.read(f)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, Problem{File: f.Path, Message: err.Error()}
	}
	f.Found, f.Hash = true, Hash(data)
	if f.Layer == tongs.LayerWorkspace {
		f.Narrows = opt.Trusted == nil || !opt.Trusted(f.Path, f.Hash)
	}
	l := &layer{
		source: &source{path: f.Path}, kind: f.Layer, narrow: f.Narrows,
		base: filepath.Base(f.Path), dir: filepath.Dir(f.Path),
	}
	if home, err := os.UserHomeDir(); err == nil && !opt.Unattended {
		l.home = home
	} else if home, err := opt.home(); err == nil {
		l.home = home
	}
	l.decode(data)
	return l, l.err()
}

// read returns the file's content, os.ErrNotExist where there is no such file.
func (opt *Options) read(f *File) ([]byte, error) {
	switch f.Layer {
	case tongs.LayerManaged:
		return readOwned(f.Path, opt.ManagedOwner)
	case tongs.LayerWorkspace:
		// A link could make the error message of a file that is not ours show a line of one that is.
		if info, err := os.Lstat(f.Path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return nil, errors.New("is a symbolic link; put the file itself there")
		}
		return readRegular(f.Path)
	}
	return readOwned(f.Path, owned.User())
}

// Summary names the files that were found, for messages.
func (c *Config) Summary() string {
	var found []string
	for _, f := range c.Files {
		if f.Found {
			found = append(found, fmt.Sprintf("%s (%s)", f.Path, f.Layer))
		}
	}
	if len(found) == 0 {
		return "no configuration files"
	}
	return strings.Join(found, ", ")
}
