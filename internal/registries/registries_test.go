package registries

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRegistriesAreRead(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	write(t, home, ".npmrc", "; mine\nregistry=https://me:secret@npm.corp.example:8443/x/?token=secret\n@team:registry = http://Team.example\n//npm.corp.example/:_authToken=secret\n")
	write(t, home, ".config/pip/pip.conf", "[global]\nindex-url = https://pip.corp.example/simple\nextra-index-url =\n    https://one.example/simple\n    https://two.example/simple\ntrusted-host = https://no.example\n")
	write(t, home, ".config/go/env", "GOPROXY=https://go.corp.example|https://proxy.golang.org,direct\nGONOSUMDB=https://no.example\n")
	write(t, home, ".cargo/config.toml", "[source.crates-io]\nreplace-with = \"corp\"\n[source.corp]\nregistry = \"sparse+https://cargo.corp.example/index/\"\n")
	write(t, project, ".npmrc", "registry=http://[::1]:4873/\n")
	write(t, project, "requirements.txt", "requests==2\n--index-url https://project.example/simple\n# https://no.example\n")
	if err := os.Symlink(filepath.Join(home, ".npmrc"), filepath.Join(project, "pip.conf")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PIP_INDEX_URL": "https://u:secret@env.example/simple"}
	p := Place{Home: home, Project: project, Getenv: func(name string) string { return env[name] }}
	want := []string{
		"npm https://npm.corp.example:8443/x/ npm.corp.example:8443 named by ~/.npmrc",
		"npm http://Team.example team.example named by ~/.npmrc",
		"pip https://env.example/simple env.example named by PIP_INDEX_URL",
		"pip https://pip.corp.example/simple pip.corp.example named by ~/.config/pip/pip.conf",
		"pip https://one.example/simple one.example named by ~/.config/pip/pip.conf",
		"pip https://two.example/simple two.example named by ~/.config/pip/pip.conf",
		"go https://go.corp.example go.corp.example named by ~/.config/go/env",
		"go https://proxy.golang.org proxy.golang.org named by ~/.config/go/env",
		"cargo https://cargo.corp.example/index/ cargo.corp.example named by ~/.cargo/config.toml",
		"npm http://[::1]:4873/ [::1]:4873 named by .npmrc of this project",
		"pip https://project.example/simple project.example named by requirements.txt of this project",
	}
	var got []string
	for _, n := range p.Read() {
		got = append(got, n.Manager+" "+n.URL+" "+n.Host+" "+n.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("read:\n%q\nwant:\n%q", got, want)
	}
	if n, ok := p.Find("project.example"); !ok || !n.Project {
		t.Errorf("project.example is %+v", n)
	}
	if len(p.User("npm")) != 2 {
		t.Errorf("the user's own for npm: %v", p.User("npm"))
	}
}

// What a program sees of a .npmrc names registries, and nothing that lets anybody in.
func TestRedactedNpmrc(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".npmrc", "; a comment with secret\nregistry=https://me:secret@npm.corp.example/x/?token=secret#secret\n@team:registry=https://team.example/\n"+
		"//npm.corp.example/:_authToken=secret\n_auth = secret\nemail=me@secret.example\nsave-exact=true\nalways-auth = false\n"+
		"cafile=/secret\n//x/:registry=https://secret.example/\nscript-shell=/bin/secret\nregistry=${SECRET}\n@a b:registry=http://secret.example\n")
	want := "registry=https://npm.corp.example/x/\n@team:registry=https://team.example/\nsave-exact=true\nalways-auth=false\n"
	if got := Redact(filepath.Join(dir, ".npmrc")); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
	write(t, dir, ".env", "registry=https://npm.corp.example/\n")
	if got := Redact(filepath.Join(dir, ".env")); got != "" {
		t.Errorf("shown of .env: %q", got)
	}
	if err := os.Symlink(".npmrc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got := Redact(filepath.Join(dir, "link")); got != "" {
		t.Errorf("shown of a link: %q", got)
	}
}

// What programs get of the user's settings says where packages come from, and nothing that lets anybody in.
func TestSettingsForPrograms(t *testing.T) {
	home := t.TempDir()
	write(t, home, ".config/pip/pip.conf", "[global]\nindex_url = https://u:secret@pip.example/simple\nextra-index-url =\n    https://one.example/simple\n    https://u:secret@two.example/simple?secret\ntrusted-host = pip.example\n    one.example:8080\nclient-cert = /secret\n  secret\n")
	write(t, home, ".config/go/env", "GOPROXY=https://u:secret@go.example|https://two.example/x?secret,direct\nGOSUMDB=off\nGOFLAGS=-secret\n")
	env := map[string]string{"GOPRIVATE": "*.corp.example", "PIP_EXTRA_INDEX_URL": "https://u:secret@a.example/ https://b.example/", "NPM_CONFIG_REGISTRY": "https://:secret@npm.example/", "PIP_TRUSTED_HOST": "a.example u:secret@b.example"}
	p := Place{Home: home, Getenv: func(name string) string { return env[name] }}
	pip := "[global]\nindex-url = https://pip.example/simple\nextra-index-url = https://one.example/simple\n    https://two.example/simple\ntrusted-host = pip.example\n    one.example:8080\n"
	if got := p.Pip(); got != pip {
		t.Errorf("pip:\n%s\nwant:\n%s", got, pip)
	}
	golang := map[string]string{"GOPROXY": "https://go.example|https://two.example/x,direct", "GOSUMDB": "off", "GOPRIVATE": "*.corp.example"}
	if got := p.Go(); !maps.Equal(got, golang) {
		t.Errorf("go: %v", got)
	}
	environ := []string{"NPM_CONFIG_REGISTRY=https://npm.example/", "PIP_EXTRA_INDEX_URL=https://a.example/ https://b.example/", "PIP_TRUSTED_HOST=a.example"}
	if got := p.Environ(); !slices.Equal(got, environ) {
		t.Errorf("environment: %q", got)
	}
}
