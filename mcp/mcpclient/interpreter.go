package mcpclient

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// interpreter is a program that runs what its arguments name.
type interpreter struct {
	// verbs come before the script. Unclear are options after which the files that run cannot be told.
	verbs, unclear []string
	// valued are options that take the next word as their value; a file there is pinned too. Flags take none; one that ends
	// in * stands for all that begin so.
	valued, flags []string
	// words is set where options with one dash are whole words, not letters that may stand together.
	words bool
}

var interpreters = map[string]interpreter{
	"node": {
		unclear: []string{"-e", "--eval", "-p", "--print", "-i"}, valued: []string{
			"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file", "--title", "--input-type", "--experimental-config-file",
		},
		flags: []string{"--enable-source-maps", "--no-*", "--experimental-*", "--trace-*"},
	},
	"python": {unclear: []string{"-c", "-m"}, valued: []string{"-W", "-X", "--check-hash-based-pycs"}, flags: letters("bBdEhiIOPqRsSuvVx")},
	"ruby":   {unclear: []string{"-e"}, valued: []string{"-I", "-r", "-C", "-E"}, flags: letters("wv")},
	"perl":   {unclear: []string{"-e", "-E"}, valued: []string{"-I", "-M", "-m"}, flags: letters("wTtWs")},
	"php":    {unclear: []string{"-r", "-B", "-R", "-E"}, valued: []string{"-d", "-c", "-z", "-f"}, flags: letters("nq")},
	"deno": {
		verbs: []string{"run"}, unclear: []string{"eval", "task"}, valued: []string{"-c", "--config", "--import-map", "--lock", "--env-file", "--cert"},
		flags: append(letters("AERWNSq"), "--allow-*", "--no-*", "--unstable-*", "--quiet", "--cached-only"),
	},
	"bun": {
		verbs: []string{"run"}, unclear: []string{"-e", "--eval", "-p", "--print", "x"}, valued: []string{"-r", "--preload", "-c", "--config", "--cwd", "--env-file"},
		flags: []string{"--silent", "--bun", "--smol", "--no-install"},
	},
	"java": {words: true, valued: []string{"-jar"}, unclear: []string{"-m", "--module", "-cp", "-classpath", "--class-path"}},
	"sh":   {unclear: []string{"-c", "-s"}, valued: []string{"-o", "-O", "--rcfile", "--init-file"}, flags: append(letters("abefhiklmnpruvxBCEHPT"), "--norc", "--noprofile", "--posix")},
	"go":   {words: true, verbs: []string{"run"}, unclear: []string{"build", "test", "install", "tool"}},
	"tsx":  {unclear: []string{"-e", "--eval", "-p", "--print"}, valued: []string{"--tsconfig", "--env-file"}},
}

// letters are options of one letter each.
func letters(list string) (options []string) {
	for _, letter := range list {
		options = append(options, "-"+string(letter))
	}
	return options
}

// fetchers run what they fetch, and launchers run another command or what a file tells them: neither can be pinned here.
var (
	fetchers  = []string{"npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx", "dlx", "docker", "podman", "nerdctl"}
	launchers = []string{
		"env", "nice", "ionice", "chrt", "nohup", "setsid", "timeout", "time", "stdbuf", "unbuffer", "script", "xargs", "parallel", "watch", "busybox", "toybox",
		"sudo", "doas", "su", "runuser", "setpriv", "chroot", "unshare", "nsenter", "bwrap", "firejail", "systemd-run", "flatpak", "snap", "ssh", "wsl",
		"tini", "dumb-init", "xvfb-run", "dbus-run-session", "direnv", "dotenv", "dotenvx", "op", "doppler", "infisical", "mise", "rtx", "asdf", "nix", "nix-shell",
		"devbox", "volta", "fnm", "nvm", "corepack", "pyenv", "rbenv", "poetry", "pipenv", "hatch", "pdm", "rye", "pixi", "conda", "mamba", "micromamba", "bundle",
		"make", "gmake", "just", "task", "rake", "cargo", "dotnet", "mvn", "gradle", "cmd", "powershell", "pwsh", "osascript", "ld-linux-x86-64.so",
	}
)

// sources are endings of files that interpreters run.
var sources = []string{
	".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".py", ".pyz", ".rb", ".pl", ".php", ".sh", ".bash", ".fish", ".lua", ".r", ".jl", ".ex", ".exs", ".erl",
	".dart", ".swift", ".kts", ".groovy", ".scala", ".clj", ".tcl", ".scm", ".rkt", ".lisp", ".awk", ".ps1", ".jar", ".wasm", ".so", ".nu",
}

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

// Fetches reports whether a command fetches what it runs, as package runners and container engines do.
func Fetches(command string) bool {
	kind := kindOf(command)
	return kind == "npx" || slices.Contains(fetchers, kind)
}

// scripts are the files that a command would run besides its program, as its arguments say.
func (s *Server) scripts(dir string) ([]string, error) {
	kind := kindOf(s.Command)
	switch in, ok := interpreters[kind]; {
	case slices.Contains(fetchers, kind):
		return nil, s.unpinnable(kind + " fetches what it runs")
	case slices.Contains(launchers, kind):
		return nil, s.unpinnable(kind + " runs another program")
	case ok:
		return s.interpreted(kind, in, dir)
	}
	var list []string
	for _, word := range s.Args { // of a program that is not known: what looks like code of it
		_, value, _ := strings.Cut(word, "=")
		for _, name := range []string{word, value} {
			if path, info := fileAt(dir, name); info != nil && (info.Mode()&0o111 != 0 || slices.Contains(sources, strings.ToLower(filepath.Ext(path)))) {
				list = append(list, path)
			}
		}
	}
	return list, nil
}

// fileAt finds a regular file that an argument names; info is nil where it names none.
func fileAt(dir, word string) (path string, info fs.FileInfo) {
	if word == "" {
		return "", nil
	}
	if path = word; !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, info
	}
	return "", nil
}

// interpreted are the files that an interpreter would run: those that its options load, and its script. After an option
// that is not known, a file may be the value of that or the script: it is pinned, and so is the next.
func (s *Server) interpreted(kind string, in interpreter, dir string) (list []string, err error) {
	add := func(word string) bool {
		path, info := fileAt(dir, word)
		if info != nil {
			list = append(list, path)
		}
		return info != nil
	}
	found, unsure := false, false
	args := in.splitOptions(s.Args)
	for i := 0; i < len(args); i++ {
		word := args[i]
		option, value, joined := strings.Cut(word, "=")
		if in.words && !joined {
			_, value, joined = strings.Cut(word, ":") // -javaagent:FILE
		}
		switch {
		case slices.Contains(in.unclear, option):
			return nil, s.unpinnable("which files " + kind + " " + option + " runs cannot be told")
		case slices.Contains(in.verbs, word), in.flag(word):
		case joined && strings.HasPrefix(word, "-"):
			add(value)
		case slices.Contains(in.valued, word) && i+1 < len(args):
			i++
			if add(args[i]) && (word == "-jar" || kind == "php" && word == "-f") {
				return list, nil
			}
		case strings.HasPrefix(word, "-") && word != "-":
			unsure = true
		case add(word):
			if !unsure {
				return list, nil
			}
			found, unsure = true, false
		default:
			return nil, s.unpinnable("there is no script " + word)
		}
	}
	if !found {
		return nil, s.unpinnable("which script " + kind + " runs cannot be told from its arguments")
	}
	return list, nil
}

// flag reports whether an option takes no value.
func (in *interpreter) flag(word string) bool {
	return slices.ContainsFunc(in.flags, func(f string) bool {
		start, any := strings.CutSuffix(f, "*")
		return word == f || any && strings.HasPrefix(word, start) && !slices.Contains(in.valued, word)
	})
}

// splitOptions returns arguments with options of one letter each by itself: -Ic is -I -c, and -rfile is -r file.
func (in *interpreter) splitOptions(args []string) (list []string) {
	for _, word := range args {
		if in.words || len(word) < 3 || word[0] != '-' || word[1] == '-' {
			list = append(list, word)
			continue
		}
		for i := 1; i < len(word); i++ {
			option := "-" + word[i:i+1]
			list = append(list, option)
			if slices.Contains(in.valued, option) && i+1 < len(word) {
				list = append(list, strings.TrimPrefix(word[i+1:], "="))
				break
			}
		}
	}
	return list
}
