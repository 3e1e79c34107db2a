// Package search holds the tools that look for files and in them: glob, grep and search_code. They walk the directories that a call may read through
// tongs.Trees, which leaves out secrets, other roots and whatever a rule names.
package search

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/live"
)

// Options are the limits of the tools. A zero field means the default that its comment names.
type Options struct {
	// GlobPaths is how many paths glob returns by default: 100. GlobMax is the most: 500.
	GlobPaths, GlobMax int
	// GrepMatches is how many matches grep returns by default: 100. GrepMax is the most: 1000, or GrepMatches. GrepChars is how many
	// characters of a line it shows: 300.
	GrepMatches, GrepMax, GrepChars int
	// Code are the limits of search_code.
	Code CodeOptions
	// User is whose git configuration says what is ignored; nil means ignore.CurrentUser.
	User *ignore.User
	// Live knows the trees that are searched often; nil means that every call walks and reads them. It has to go by the
	// configuration of the same user. Whoever made it closes it.
	Live *live.Service
}

// Toolset is the name that configuration knows the tools by.
const Toolset = "filesystem"

// Tools returns the tools. They share what they know of ignore files.
func Tools(opt Options) ([]tongs.Tool, error) {
	t := &tools{opt: opt, grepper: grep.New(0)}
	set(&t.opt.GlobPaths, 100)
	set(&t.opt.GlobMax, 500)
	set(&t.opt.GrepMatches, 100)
	set(&t.opt.GrepMax, max(1000, t.opt.GrepMatches))
	set(&t.opt.GrepChars, 300)
	user := ignore.CurrentUser()
	if opt.User != nil {
		user = *opt.User
	}
	t.ignore = &ignore.Reader{User: user, Cache: &ignore.Cache{}}
	glob, err := t.globTool()
	if err != nil {
		return nil, err
	}
	grep, err := t.grepTool()
	if err != nil {
		return nil, err
	}
	code, err := t.codeTool()
	if err != nil {
		return nil, err
	}
	return []tongs.Tool{glob, grep, code}, nil
}

func set(v *int, def int) {
	if *v <= 0 {
		*v = def
	}
}

// tools is what the tools share.
type tools struct {
	opt     Options
	ignore  *ignore.Reader
	grepper *grep.Engine
	code    codeCache
}

// tree opens a directory for a search.
func tree(env *tongs.Env, p tongs.Path) (*tongs.Tree, error) {
	trees, ok := env.Files.(tongs.Trees)
	if !ok {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the files of this call cannot be searched; list_directory shows what there is")
	}
	return trees.Tree(p)
}

// known returns the tree as the service that knows trees takes it, false where that is not to be asked: it knows what is
// neither hidden nor ignored.
func (t *tools) known(dir *tongs.Tree, hidden, noIgnore bool) (live.Tree, bool) {
	return live.Tree{Host: dir.Host, Top: dir.Top, Dir: dir.Dir, Skip: dir.Skip, Scope: dir.Scope}, t.opt.Live != nil && !hidden && !noIgnore
}

// show quotes a name that would not stay on its line or show as it is.
func show(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(name)
	}
	return name
}

// count writes a number of things: "1 file", "3 files".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
