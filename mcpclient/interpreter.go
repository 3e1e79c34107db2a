package mcpclient

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// interpreter is a program that runs what its arguments name.
type interpreter struct {
	// verbs come before the script; code are options whose value is the program itself, and module those that name one that
	// cannot be found by its file.
	verbs, code, module []string
	// valued are options that take the next word as their value; a file there is pinned too.
	valued []string
}

var interpreters = map[string]interpreter{
	"node": {
		code: []string{"-e", "--eval", "-p", "--print"}, valued: []string{
			"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file", "--title", "--input-type",
		},
	},
	"python": {code: []string{"-c"}, module: []string{"-m"}, valued: []string{"-W", "-X", "--check-hash-based-pycs"}},
	"ruby":   {code: []string{"-e"}, valued: []string{"-I", "-r", "-C", "-E"}},
	"perl":   {code: []string{"-e", "-E"}, valued: []string{"-I", "-M", "-m"}},
	"php":    {code: []string{"-r"}, valued: []string{"-d", "-c", "-z"}},
	"deno":   {verbs: []string{"run"}, code: []string{"eval"}, valued: []string{"-c", "--config", "--import-map", "--lock", "--env-file"}},
	"bun":    {verbs: []string{"run"}, code: []string{"-e", "--eval"}, module: []string{"x"}, valued: []string{"-r", "--preload", "-c", "--config", "--cwd"}},
	"java":   {valued: []string{"-jar"}, module: []string{"-m", "--module", "-cp", "-classpath", "--class-path"}},
	"sh":     {code: []string{"-c"}, valued: []string{"-o", "-O", "--rcfile", "--init-file"}},
	"go":     {verbs: []string{"run"}, module: []string{"build", "test", "install", "tool"}},
	"tsx":    {valued: []string{"--tsconfig", "--env-file"}},
}

// fetchers run what they fetch, and cannot be pinned here.
var fetchers = []string{"npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx", "dlx", "docker", "podman", "nerdctl"}

var versioned = regexp.MustCompile(`^(.*?)[0-9][0-9.]*$`)

// kindOf is the name of a program without its ending and version.
func kindOf(command string) string {
	name := strings.ToLower(filepath.Base(command))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ending)
	}
	if m := versioned.FindStringSubmatch(name); m != nil && m[1] != "" {
		name = strings.TrimRight(m[1], "-")
	}
	switch name {
	case "nodejs":
		return "node"
	case "pypy":
		return "python"
	case "bash", "dash", "zsh", "ksh", "ash":
		return "sh"
	case "ts-node":
		return "tsx"
	}
	return name
}

// unpinnable is why a command cannot be pinned.
func (s *Server) unpinnable(why string) error {
	return tongs.Errorf(tongs.CodeConfigError, "%s cannot be pinned: %s; name a program or a script, or set 'pin: none' for it in your own configuration", s.called(), why)
}

// scripts are the files that an interpreter would run, as its arguments say. A command that is none has no scripts.
func (s *Server) scripts(dir string) ([]string, error) {
	kind := kindOf(s.Command)
	if slices.Contains(fetchers, kind) {
		return nil, s.unpinnable(kind + " fetches what it runs")
	}
	in, ok := interpreters[kind]
	if !ok {
		return nil, nil
	}
	var list []string
	add := func(word string) bool {
		if !filepath.IsAbs(word) {
			word = filepath.Join(dir, word)
		}
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() {
			return false
		}
		list = append(list, word)
		return true
	}
	for i := 0; i < len(s.Args); i++ {
		word := s.Args[i]
		option, value, joined := strings.Cut(word, "=")
		switch {
		case slices.Contains(in.code, option):
			return list, nil // the program stands in the configuration
		case slices.Contains(in.module, option):
			return nil, s.unpinnable("which files " + kind + " " + option + " runs cannot be told")
		case slices.Contains(in.verbs, word):
		case joined && strings.HasPrefix(word, "-"):
			add(value)
		case slices.Contains(in.valued, word) && i+1 < len(s.Args):
			i++
			if found := add(s.Args[i]); found && word == "-jar" {
				return list, nil
			}
		case strings.HasPrefix(word, "-") && word != "-":
		case add(word):
			return list, nil
		default:
			return nil, s.unpinnable("there is no script " + word)
		}
	}
	return nil, s.unpinnable("which script " + kind + " runs cannot be told from its arguments")
}
