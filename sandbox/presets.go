package sandbox

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/hostpath"
	"github.com/tongs-ai/tongs/internal/registries"
)

// preset prepares a policy for a toolchain.
type preset struct {
	name  string
	apply func(b *builder, workspace string)
}

// presets is the list of them. Order matters for PATH only.
var presets = []preset{
	{"go", presetGo},
	{"node", presetNode},
	{"python", presetPython},
	{"rust", presetRust},
	{"java", presetJava},
	{"git", presetGit},
}

// Presets returns the names of the presets.
func Presets() (names []string) {
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

// presetGo gives Go a build and a module cache of its own, which fills itself from what the user has downloaded.
func presetGo(b *builder, _ string) {
	if !b.interpreter("go", "gofmt") {
		return
	}
	b.setEnv("GOCACHE", b.cache("go-build"))
	b.setEnv("GOMODCACHE", b.cache("go-mod"))
	b.setEnv("GOPATH", "/tmp/go")
	b.setEnv("GOTOOLCHAIN", "local")
	b.setEnv("GOTELEMETRY", "off")
	b.setEnv("GOENV", "off")
	mod := b.env["GOMODCACHE"]
	if mod == "" {
		path := b.env["GOPATH"]
		if path == "" {
			path = filepath.Join(b.home, "go")
		}
		mod = filepath.Join(filepath.SplitList(path)[0], "pkg", "mod")
	}
	set := b.registries().Go()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if name != "GOPROXY" {
			b.setEnv(name, set[name])
		}
	}
	proxy := cmp.Or(set["GOPROXY"], "https://proxy.golang.org,direct")
	if have := filepath.Join(mod, "cache", "download"); exists(have) {
		b.readable(have)
		proxy = "file://" + filepath.ToSlash(have) + "," + proxy
	}
	b.setEnv("GOPROXY", proxy)
}

func presetNode(b *builder, _ string) {
	if !b.interpreter("node", "npm", "npx", "yarn", "pnpm", "bun", "deno", "corepack") {
		return
	}
	b.setEnv("npm_config_cache", b.cache("npm"))
	if settings := b.registries().NPM(); settings != "" {
		b.pol.Files[npmConfig] = settings // below the settings of a project, as the user's own are
		b.setEnv("npm_config_globalconfig", npmConfig)
	}
	b.setEnv("npm_config_update_notifier", "false")
	b.setEnv("npm_config_fund", "false")
	b.setEnv("YARN_CACHE_FOLDER", b.cache("yarn"))
	b.setEnv("PNPM_HOME", b.cache("pnpm"))
	b.setEnv("COREPACK_HOME", b.cache("corepack"))
	b.setEnv("DENO_DIR", b.cache("deno"))
	b.setEnv("BUN_INSTALL_CACHE_DIR", b.cache("bun"))
}

// npmConfig is where npm finds what of the user's settings is no secret.
const npmConfig = "/etc/tongs-npmrc"

// registries is where the user's own package registries are named. What programs see of it has no credentials.
func (b *builder) registries() registries.Place {
	return registries.Place{Home: b.home, Getenv: func(name string) string { return b.env[name] }}
}

func presetPython(b *builder, _ string) {
	if !b.interpreter("python3", "python", "pip", "pip3", "uv", "poetry") {
		return
	}
	if settings := b.registries().Pip(); settings != "" {
		b.pol.Files["/etc/pip.conf"] = settings
	}
	b.setEnv("PIP_CACHE_DIR", b.cache("pip"))
	b.setEnv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
	b.setEnv("UV_CACHE_DIR", b.cache("uv"))
	b.setEnv("POETRY_CACHE_DIR", b.cache("poetry"))
	b.setEnv("MPLCONFIGDIR", b.cache("matplotlib"))
}

func presetRust(b *builder, _ string) {
	if !b.interpreter("cargo", "rustc") {
		return
	}
	if home := b.rustup(); home != "" {
		b.setEnv("RUSTUP_HOME", home)
		if bin := b.rustToolchain(home); bin != "" {
			b.path = slices.Insert(b.path, 0, bin) // rustup's own programs want to write to its home
		}
	}
	b.setEnv("CARGO_HOME", b.cache("cargo"))
}

// rustup finds where rustup keeps toolchains, if the compiler is one of its proxies.
func (b *builder) rustup() string {
	home := b.env["RUSTUP_HOME"]
	if home == "" {
		home = filepath.Join(b.home, ".rustup")
	}
	toolchains := filepath.Join(home, "toolchains")
	if !exists(toolchains) {
		return ""
	}
	b.readable(toolchains, filepath.Join(home, "settings.toml"))
	return home
}

var defaultToolchain = regexp.MustCompile(`(?m)^default_toolchain = "([\w.-]+)"`)

// rustToolchain is the directory of the programs of the toolchain that rustup would choose.
func (b *builder) rustToolchain(home string) string {
	name := b.env["RUSTUP_TOOLCHAIN"]
	if name == "" {
		text, _ := os.ReadFile(filepath.Join(home, "settings.toml"))
		if m := defaultToolchain.FindSubmatch(text); m != nil {
			name = string(m[1])
		}
	}
	if name == "" || name != filepath.Base(name) {
		return ""
	}
	for _, pattern := range []string{name, name + "-*"} { // the platform may be left out
		found, _ := filepath.Glob(filepath.Join(home, "toolchains", pattern, "bin"))
		if len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

func presetJava(b *builder, _ string) {
	if !b.interpreter("java", "javac", "mvn", "gradle", "kotlinc") {
		return
	}
	if home := b.env["JAVA_HOME"]; home != "" && exists(filepath.Join(home, "bin", "java")) && b.mayShow(home) {
		b.readable(home)
		b.setEnv("JAVA_HOME", home)
	}
	b.setEnv("GRADLE_USER_HOME", b.cache("gradle"))
	repository := "-Dmaven.repo.local=" + b.cache("m2")
	b.setEnv("MAVEN_ARGS", repository)
	b.setEnv("MAVEN_OPTS", repository)
}

// presetGit lets commits be made: the user's name is in their home. The repository that a worktree belongs to is a root of
// the workspace, not a matter of a preset.
func presetGit(b *builder, _ string) {
	if user := gitUser(b.home, b.env["XDG_CONFIG_HOME"]); user != "" {
		b.pol.Files["/etc/gitconfig"] = user
	}
	b.setEnv("GIT_TERMINAL_PROMPT", "0")
	// Else git packs and prunes objects after an ordinary command, which cannot be undone.
	b.setEnv("GIT_CONFIG_COUNT", "3")
	b.setEnv("GIT_CONFIG_KEY_0", "gc.auto")
	b.setEnv("GIT_CONFIG_VALUE_0", "0")
	b.setEnv("GIT_CONFIG_KEY_1", "maintenance.auto")
	b.setEnv("GIT_CONFIG_VALUE_1", "false")
	// What a copy left has another inode in the workspace: git compares sizes and times of modification only, else it takes files for
	// changed, and git cherry-pick --abort refuses.
	b.setEnv("GIT_CONFIG_KEY_2", "core.checkStat")
	b.setEnv("GIT_CONFIG_VALUE_2", "minimal")
	b.setEnv("GIT_OPTIONAL_LOCKS", "0") // else what only reads, such as the status that go build takes, writes the index
}

// gitUser returns a configuration that holds the user's name and address, as they are in their own.
func gitUser(home, xdg string) string {
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	found := map[string]string{}
	for _, file := range []string{filepath.Join(xdg, "git", "config"), filepath.Join(home, ".gitconfig")} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		section := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				section = strings.ToLower(strings.Trim(line, "[]"))
				continue
			}
			key, value, ok := strings.Cut(line, "=")
			key = strings.ToLower(strings.TrimSpace(key))
			if ok && section == "user" && (key == "name" || key == "email") {
				found[key] = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
	}
	out := ""
	for _, key := range []string{"name", "email"} {
		if v := found[key]; v != "" && !strings.ContainsAny(v, "\"\\\n\r\x00") {
			out += "\t" + key + " = \"" + v + "\"\n"
		}
	}
	if out == "" {
		return ""
	}
	return "[user]\n" + out
}

// mayShow reports whether a directory outside the system may be shown whole: not the home itself, nor what holds it,
// nor its hidden directories of settings and keys.
func (b *builder) mayShow(dir string) bool {
	dir = filepath.Clean(dir)
	if !filepath.IsAbs(dir) || dir == "/" || hostpath.Within(dir, filepath.Clean(b.home)) {
		return false
	}
	return !slices.ContainsFunc([]string{".ssh", ".gnupg", ".aws", ".config", ".local", ".cache", ".kube", ".docker", ".cargo"}, func(name string) bool {
		return dir == filepath.Join(b.home, name)
	}) && dir != b.env["CARGO_HOME"]
}
