package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// home makes a user's home with programs in it.
func fakeHome(t *testing.T, programs ...string) string {
	t.Helper()
	home := tree4(t, programs...)
	for _, p := range programs {
		if err := os.Chmod(filepath.Join(home, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestDefaultShowsNoHome(t *testing.T) {
	home := fakeHome(t, ".ssh/id", ".local/bin/tool", "ws/x")
	pol := Default(filepath.Join(home, "ws"), PresetOptions{Home: home, Environ: []string{"PATH=" + home + "/.local/bin:/usr/bin:relative", "AWS_SECRET_ACCESS_KEY=x", "LANG=C", "LC_ALL=C"}})
	for _, p := range pol.Readable {
		if hostpath.Within(p, home) || hostpath.Within(home, p) {
			t.Errorf("%s is readable", p)
		}
	}
	env := strings.Join(pol.Env, "\n")
	if strings.Contains(env, "AWS") || strings.Contains(env, home+"/.local") || strings.Contains(env, "relative") || !strings.Contains(env, "LC_ALL=C") || !strings.Contains(env, "HOME=/tmp/home") {
		t.Error(env)
	}
	if !slices.Equal(pol.Require, Properties()) || pol.Network.Mode != NetworkNone || pol.Dir != filepath.Join(home, "ws") {
		t.Errorf("%+v", pol)
	}
}

func TestInterpretersInAHome(t *testing.T) {
	for name, c := range map[string]struct {
		programs []string
		files    map[string]string
		path     string
		env      string
		readable string
		bin      string
	}{
		"pyenv, by the user's choice":      {[]string{".pyenv/shims/python3", ".pyenv/versions/3.11.1/bin/python3", ".pyenv/versions/3.12.2/bin/python3"}, map[string]string{".pyenv/version": "3.11.1\n"}, ".pyenv/shims", "", ".pyenv/versions/3.11.1", ".pyenv/versions/3.11.1/bin"},
		"pyenv, by a variable":             {[]string{".pyenv/shims/python3", ".pyenv/versions/3.11.1/bin/python3", ".pyenv/versions/3.12.2/bin/python3"}, map[string]string{".pyenv/version": "3.11.1\n"}, ".pyenv/shims", "PYENV_VERSION=3.12.2", ".pyenv/versions/3.12.2", ".pyenv/versions/3.12.2/bin"},
		"pyenv, by the workspace":          {[]string{".pyenv/shims/python3", ".pyenv/versions/3.11.1/bin/python3", ".pyenv/versions/3.12.2/bin/python3"}, map[string]string{"ws/.python-version": "3.12.2\n", ".pyenv/version": "3.11.1\n"}, ".pyenv/shims", "", ".pyenv/versions/3.12.2", ".pyenv/versions/3.12.2/bin"},
		"pyenv, by a workspace that lies":  {[]string{".pyenv/shims/python3", ".pyenv/versions/3.11.1/bin/python3", ".ssh/bin/python3"}, map[string]string{"ws/.python-version": "../../.ssh\n"}, ".pyenv/shims", "", ".pyenv/versions/3.11.1", ".pyenv/versions/3.11.1/bin"},
		"nvm":                              {[]string{".nvm/versions/node/v20.1.0/bin/node", ".nvm/versions/node/v20.1.0/bin/npm"}, nil, ".nvm/versions/node/v20.1.0/bin", "", ".nvm/versions/node/v20.1.0", ".nvm/versions/node/v20.1.0/bin"},
		"mise":                             {[]string{".local/share/mise/shims/node", ".local/share/mise/installs/node/20.1.0/bin/node"}, nil, ".local/share/mise/shims", "", ".local/share/mise/installs/node/20.1.0", ".local/share/mise/installs/node/20.1.0/bin"},
		"a directory of one's own":         {[]string{"sdk/go1.22/bin/go"}, nil, "sdk/go1.22/bin", "", "sdk/go1.22", "sdk/go1.22/bin"},
		"~/.local shows its programs only": {[]string{".local/bin/node", ".local/share/secret"}, nil, ".local/bin", "", ".local/bin", ".local/bin"},
	} {
		t.Run(name, func(t *testing.T) {
			home := fakeHome(t, append(c.programs, "ws/x")...)
			for file, content := range c.files {
				if err := os.WriteFile(filepath.Join(home, file), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			pol := Default(filepath.Join(home, "ws"), PresetOptions{Home: home, Environ: []string{"PATH=" + filepath.Join(home, c.path) + ":/usr/bin:/bin", c.env}})
			if !slices.Contains(pol.Readable, filepath.Join(home, c.readable)) {
				t.Errorf("readable: %v", pol.Readable)
			}
			if path := lookupEnv(pol.Env, "PATH"); !strings.HasPrefix(path, filepath.Join(home, c.bin)+":") {
				t.Errorf("PATH: %s", path)
			}
			for _, p := range pol.Readable {
				if hostpath.Within(p, filepath.Join(home, ".ssh")) || hostpath.Within(p, filepath.Join(home, ".local/share/secret")) {
					t.Errorf("%s is readable", p)
				}
			}
		})
	}
}

// The settings of a toolchain in the home are beside its programs, and may hold a password: they are not shown.
func TestToolchainsInTheHomeShowNoSettings(t *testing.T) {
	home := fakeHome(t, "ws/x", ".cargo/bin/cargo", ".cargo/credentials.toml", ".cargo/registry/x", ".volta/bin/node", ".volta/tools/image/node/x", ".volta/hooks.json", "other/bin/java", "other/credentials.toml")
	for _, cargo := range []string{"", home + "/other"} {
		pol := Default(filepath.Join(home, "ws"), PresetOptions{
			Home: home, Environ: []string{"PATH=" + home + "/.cargo/bin:" + home + "/.volta/bin:" + home + "/other/bin:/usr/bin:/bin", "CARGO_HOME=" + cargo},
		})
		seen := func(name string) bool {
			return slices.ContainsFunc(pol.Readable, func(p string) bool { return hostpath.Within(p, filepath.Join(home, name)) })
		}
		for name, want := range map[string]bool{
			".cargo/bin/cargo": true, ".cargo/credentials.toml": false, ".cargo/registry/x": false, ".volta/bin/node": true, ".volta/tools/image/node/x": true,
			".volta/hooks.json": false, "other/bin/java": true, "other/credentials.toml": cargo == "",
		} {
			if seen(name) != want {
				t.Errorf("CARGO_HOME=%s: %s is readable: %t", cargo, name, !want)
			}
		}
	}
}

func TestPresetsAndCaches(t *testing.T) {
	home := fakeHome(t, "ws/x", "go/pkg/mod/cache/download/x", ".cargo/bin/cargo", ".rustup/toolchains/stable/bin/cargo", "bin/go", "bin/java")
	direct := CachesIn(filepath.Join(home, "cache")).Direct("ws")
	cache := direct.Seen()
	opt := PresetOptions{Home: home, Cache: direct, Environ: []string{"PATH=" + home + "/.cargo/bin:" + home + "/bin:/usr/bin:/bin"}}
	pol := Default(filepath.Join(home, "ws"), opt)
	for name, want := range map[string]string{
		"GOCACHE": cache + "/go-build", "GOMODCACHE": cache + "/go-mod", "CARGO_HOME": cache + "/cargo", "RUSTUP_HOME": home + "/.rustup", "GRADLE_USER_HOME": cache + "/gradle",
		"GOPROXY": "file://" + home + "/go/pkg/mod/cache/download,https://proxy.golang.org,direct",
	} {
		if got := lookupEnv(pol.Env, name); got != want {
			t.Errorf("%s=%s, not %s", name, got, want)
		}
	}
	if pol.Cache != direct || !slices.Contains(pol.Readable, home+"/.rustup/toolchains") {
		t.Errorf("%v %v", pol.Cache, pol.Readable)
	}
	opt.Presets = []string{"node"}
	if pol := Default(filepath.Join(home, "ws"), opt); lookupEnv(pol.Env, "GOCACHE") != "" {
		t.Error("a preset that nobody asked for")
	}
	if got := Presets(); len(got) != 6 {
		t.Errorf("%v", got)
	}
}

func TestTheNameOfAGitUser(t *testing.T) {
	for config, want := range map[string]string{
		"[user]\n\tname = Ann\n\temail=ann@example.org\n[core]\n\tpager = evil\n": "[user]\n\tname = \"Ann\"\n\temail = \"ann@example.org\"\n",
		"[user]\n\tname = a\\\"\n[alias]\n\tname = x\n":                           "",
		"[core]\n\tfsmonitor = evil\n":                                            "",
		"":                                                                        "",
	} {
		home := tree4(t)
		if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := gitUser(home, ""); got != want {
			t.Errorf("%q: %q", config, got)
		}
	}
}

func TestFixesAreNamed(t *testing.T) {
	if !olderThan("5.10.0-13-amd64", 5, 14) || olderThan("6.1.0", 5, 14) || olderThan("5.14.0", 5, 14) || olderThan("odd", 5, 14) {
		t.Error("versions are compared wrongly")
	}
	if p := AppArmorProfile("/usr/bin/tongs"); !strings.Contains(p, "profile tongs /usr/bin/tongs flags=(unconfined)") || !strings.Contains(p, "userns,") {
		t.Error(p)
	}
	if got := fix(TierA, "4.19.0", nil); !strings.Contains(got, "5.14") {
		t.Error(got)
	}
	if got := fix(TierB, "6.1.0", nil); !strings.Contains(got, "Landlock") {
		t.Error(got)
	}
}

func TestProbing(t *testing.T) {
	r := runner(t)
	p := r.Probe(t.Context())
	if len(p.Tiers) != 2 || !p.Tiers[0].OK || !p.Tiers[1].OK || p.Kernel == "" || len(p.Limits) < 10 {
		t.Errorf("%+v", p)
	}
	again := r.Probe(t.Context())
	if again.Kernel != p.Kernel || r.probed == nil {
		t.Error("it is not remembered")
	}
	if a := p.status(TierA); !slices.Equal(a.Properties, Properties()) {
		t.Errorf("%+v", a)
	}
	if p.status("none") != nil {
		t.Error("a tier that is none")
	}
}
