//go:build linux || darwin

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestProtectedNames(t *testing.T) {
	w := newWorkspace(t, nil)
	protected := []string{
		".git", ".git/config", ".git/hooks/pre-commit", "sub/.git/HEAD", "a/b/.git", ".gitmodules", ".mcp.json", "x/.mcp.json",
		".claude/settings.json", ".codex", ".vscode/tasks.json", ".idea/x", ".cursor/mcp.json", ".gemini/settings.json", ".envrc",
		"home/.bashrc", ".zshenv", ".profile", ".inputrc", ".config/fish/config.fish", ".github/workflows/ci.yml",
		".github", "sub/.github", ".config", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile", "azure-pipelines.yml",
		".travis.yml", ".npmrc", ".yarnrc.yml", ".pypirc", "tongs.yaml", "agents/review.worker", ".env", ".env.local", "prod.env",
		"key.pem", "tls/server.key", "id_rsa", "x/id_ed25519", "a.p12", ".netrc", ".aws/credentials", ".ssh/authorized_keys", ".husky/pre-push",
		// Case, ignored characters, trailing dots and spaces, streams, short names, full-width letters.
		".GIT/config", ".Git", ".gIt/HOOKS/x", ".MCP.JSON", "TONGS.yaml", "REVIEW.Worker", ".ENV", "KEY.PEM", "jenkinsFILE",
		".g\u200cit/config", ".git\u200d", "\ufeff.git", ".gi\u00adt", ".git.", ".git ", ".git...", ".git . ./x", ".git\u3000",
		".git::$INDEX_ALLOCATION/config", ".git:x", "GIT~1", "git~1/config", "GIT~2", "GI7EBA~1", "MCP~1.JSO", "ENVRC~1", "GITHUB~1/WORKFL~1",
		"TONGS~1.YAM", "REVIEW~1.WOR", "SERVER~1.KEY", "GITMOD~1", "．ｇｉｔ", ".ｅｎｖ", ".Kube", ".\u212aube/config", ".ba\u017fhrc", "․git",
	}
	for _, rel := range protected {
		if _, ok := w.Protected(in(rel)); !ok {
			t.Errorf("%q is not protected", rel)
		}
	}
	open := []string{
		"a.go", "git", ".gitignore", ".gitattributes", "gitk/config", "src/config", "hooks/x", "HEAD", "objects/x", "refs",
		".github/ISSUE_TEMPLATE.md", ".github/CODEOWNERS", "workflows/x", ".env.example", ".env.sample", ".env.template", "environment",
		"env", "keys.go", "pem", "monkey", "credentials/oauth.go", "README", "worker.go", "my.workers", "tongs.go", "id_ed25519.pub",
		".config/other", "a~1", "notes~", "x~1.txt", ".",
	}
	for _, rel := range open {
		if why, ok := w.Protected(in(rel)); ok {
			t.Errorf("%q is %s", rel, why)
		}
	}
	for rel, want := range map[string]bool{
		".env": true, ".ENV.production": true, "a/id_rsa": true, ".ssh/known_hosts": true, "K.P12": true, ".npmrc": true, ".e\u200bnv": true,
		".aws/x/y": true, ".git/config": false, ".env.example": false, "a.go": false, ".envrc": false, ".config": false, ".docker": false,
		".docker/config.json": true, ".token": true, ".release-token": true, "a/.npm_token": true, ".vault-token": true, "token": false,
		"csrf-token.go": false, ".tokens": false, "src/api_token": false, "certifi/cacert.pem": false, "cakey.pem": true,
	} {
		if why, got := w.Secret(in(rel)); got != want {
			t.Errorf("Secret(%q) = %v %s", rel, got, why)
		}
	}
}

func TestProtectedNamesList(t *testing.T) {
	w := newWorkspace(t, nil)
	list := ProtectedNames()
	for i, n := range list {
		stars := slices.ContainsFunc(strings.Split(n.Pattern, "/"), func(elem string) bool { return strings.Count(elem, "*") > 1 })
		if n.Why == "" || n.Pattern == "" || n.Kind == "" || strings.HasSuffix(n.Why, ".") || stars {
			t.Errorf("entry %d is incomplete: %+v", i, n)
		}
		name := strings.ReplaceAll(n.Pattern, "*", "a")
		for _, rel := range []string{name, "x/" + name, strings.ToUpper(name) + "/below"} {
			if _, ok := w.Protected(in(rel)); !ok {
				t.Errorf("%q is not protected", rel)
			}
			if _, ok := w.Secret(in(rel)); ok != (n.Kind == KindSecret) {
				t.Errorf("Secret(%q) = %v", rel, ok)
			}
		}
	}
	list[0].Pattern = "changed"
	if slices.Equal(list, ProtectedNames()) {
		t.Error("the list can be changed from outside")
	}
}

// Instructions for agents are asked for in a way of their own, unless something about them is worse.
func TestInstructionsForAgents(t *testing.T) {
	w := newWorkspace(t, map[string]string{"AGENTS.md": "a", "dir/CLAUDE.md/x": "", "repo/HEAD": "", "repo/objects/": "", "repo/refs/": ""})
	for rel, want := range map[string]struct{ steers, must bool }{
		"AGENTS.md": {true, false}, "new/AGENTS.md": {true, false}, "agents.MD": {true, false}, "CLAUDE.local.md": {true, false},
		".github/copilot-instructions.md": {true, false}, ".github/instructions/go.instructions.md": {true, false}, ".cursorrules": {true, false},
		"GEMINI.md": {true, false}, ".clinerules/a.md": {true, false}, "skills/x/SKILL.md": {true, false},
		// Below such a name, or with it in a stricter place.
		"GEMINI.md/.git/hooks/x": {false, true}, "GEMINI.md/x": {false, true}, "dir/CLAUDE.md": {false, true}, ".git/AGENTS.md": {false, true},
		".claude/CLAUDE.md": {false, true}, ".github/workflows/AGENTS.md": {false, true}, "repo/hooks/AGENTS.md": {false, true},
		".env/AGENTS.md": {false, true}, "AGENTS.md.worker": {false, true}, ".github": {false, true},
		"AGENTS.txt": {}, "README.md": {}, "my-AGENTS.md": {}, "docs/agents": {},
	} {
		for _, kind := range []tongs.EffectKind{tongs.EffectWrite, tongs.EffectDelete} {
			if rel == ".github" && kind == tongs.EffectDelete {
				continue
			}
			list, err := w.Check([]tongs.Effect{{Kind: kind, Path: in(rel)}})
			if tongs.CodeOf(err) == tongs.CodeInvalidPath {
				continue // below a file
			}
			if err != nil || list[0].Steers != want.steers || list[0].MustAsk != want.must {
				t.Errorf("%s %s: %+v, %v", kind, rel, list, err)
			}
		}
	}
}

func TestLookalikeRepositories(t *testing.T) {
	w := newWorkspace(t, map[string]string{
		"bare/HEAD": "x", "bare/objects/": "", "bare/refs/": "", "bare/config": "",
		"nohead/objects/": "", "nohead/refs/": "", "norefs/HEAD": "", "norefs/objects/": "",
		"tree/HEAD": "", "tree/commondir": "", "half/HEAD": "", "plain/config": "", "plain/hooks/x": "",
	})
	for rel, want := range map[string]bool{
		"bare/config": true, "bare/CONFIG": true, "bare/hooks/post-checkout": true, "bare/HEAD": true, "bare/refs/heads/x": true,
		"bare/info/attributes": true, "bare/objects/x": true, "bare/README": false, "bare/src/config": false,
		"nohead/HEAD": true, "nohead/head": true, "nohead/config": false, "nohead/hooks/x": false, "nohead/HEAD/x": true,
		"norefs/refs/heads/x": true, "norefs/refs": true, "norefs/config": false,
		"tree/config": true, "half/commondir": true, "half/config": false,
		"plain/config": false, "plain/HEAD": false, "new/HEAD": false,
	} {
		if why, got := w.Protected(in(rel)); got != want {
			t.Errorf("Protected(%q) = %v %s, want %v", rel, got, why, want)
		}
	}
	// The workspace itself may be one.
	must(t, os.WriteFile(filepath.Join(w.Dir(), "HEAD"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(w.Dir(), "refs"), 0o700))
	if _, ok := w.Protected(in("objects/pack")); !ok {
		t.Error("the workspace can be made a repository")
	}
}

func TestCheck(t *testing.T) {
	base := tree(t, map[string]string{
		"ws/a": "a", "ws/.env": "s", "ws/d/x": "x", "ws/proj/sub/.git/config": "", "ws/mod/HEAD": "", "ws/mod/objects/": "", "ws/mod/refs/": "",
		"ws/link": "-> a", "ws/dirlink": "-> d", "ws/out": "-> ../other", "other/f": "", "ro/r": "r", "ws/.git/config": "", "ws/zone/z": "",
	})
	w := openOn(t, Options{Dir: base + "/ws", Roots: []Root{{Name: "ro", Dir: base + "/ro"}, {Name: "zone", Dir: base + "/ws/zone", Writable: true}}}, openHandle)
	ro := func(rel string) tongs.Path { return tongs.Path{Root: "ro", Rel: rel} }
	got, err := w.Check([]tongs.Effect{
		reading(in("a")), writing(in("a")), writing(in("new/x")), deleting(in("d")), deleting(in("link")), reading(in(".env")),
		writing(in(".env")), deleting(in("proj")), deleting(in("mod")), writing(in(".git/hooks/x")), reading(ro("r")), reading(in("link")),
		{Kind: tongs.EffectDelete, Unknown: true},
		{Kind: tongs.EffectExecute, Argv: []string{"ls"}, MustAsk: true},
		{Kind: tongs.EffectWrite, Path: in("a"), Version: "file:mine", MustAsk: true, NoGrant: true, Why: "tool says so"},
		{Kind: tongs.EffectWrite, Path: in(".envrc"), Why: "tool says so"},
		reading(in(".")),
	})
	must(t, err)
	// Flags: m MustAsk, n NoGrant, v a version was filled in, a it is Absent.
	want := []string{"", "v", "a", "nv", "nv", "m", "mv", "mnv", "mnv", "ma", "", "", "n", "m", "mnv", "ma", ""}
	for i, e := range got {
		flags := ""
		if e.MustAsk {
			flags += "m"
		}
		if e.NoGrant {
			flags += "n"
		}
		switch e.Version {
		case "":
		case tongs.Absent:
			flags += "a"
		default:
			flags += "v"
		}
		if flags != want[i] {
			t.Errorf("effect %d (%s): flags %q, want %q", i, e, flags, want[i])
		}
		if e.MustAsk && i != 13 && e.Why == "" {
			t.Errorf("effect %d (%s) does not say why it must be asked", i, e)
		}
	}
	if got[14].Version != "file:mine" || got[15].Why != "tool says so; protected: direnv runs it on entering the directory" {
		t.Errorf("what the tool said is lost: %+v %+v", got[14], got[15])
	}
	for _, tt := range []struct {
		e    tongs.Effect
		code tongs.Code
	}{
		{writing(in("link")), tongs.CodeInvalidPath},
		{writing(in("dirlink/x")), tongs.CodeInvalidPath},
		{reading(in("dirlink/x")), tongs.CodeInvalidPath},
		{deleting(in("out/f")), tongs.CodeInvalidPath},
		{writing(in("out/new")), tongs.CodeInvalidPath},
		{writing(in("../other/f")), tongs.CodeInvalidPath},
		{writing(in("d/../a")), tongs.CodeInvalidPath},
		{writing(in("/etc/passwd")), tongs.CodeInvalidPath},
		{reading(in("")), tongs.CodeInvalidPath},
		{reading(in("a/")), tongs.CodeInvalidPath},
		{reading(in("a\x00")), tongs.CodeInvalidPath},
		{writing(in("a/below")), tongs.CodeInvalidPath},
		{writing(in("zone/z")), tongs.CodeInvalidPath}, // its name is /zone/z
		{reading(tongs.Path{Root: "none", Rel: "a"}), tongs.CodeInvalidPath},
		{writing(ro("r")), tongs.CodePermissionDenied},
		{deleting(ro("r")), tongs.CodePermissionDenied},
		{deleting(in(".")), tongs.CodePermissionDenied},
		{deleting(in(".git")), tongs.CodePermissionDenied},
		{deleting(tongs.Path{Root: "zone", Rel: "."}), tongs.CodePermissionDenied},
		{tongs.Effect{Kind: tongs.EffectRead | tongs.EffectWrite, Path: in("a")}, tongs.CodeInternal},
		{tongs.Effect{}, tongs.CodeInternal},
	} {
		_, err := w.Check([]tongs.Effect{reading(in("a")), tt.e})
		if tongs.CodeOf(err) != tt.code {
			t.Errorf("%+v: got %v, want %s", tt.e, err, tt.code)
		}
	}
}

func TestCheckScanIsBounded(t *testing.T) {
	w := newWorkspace(t, nil)
	w.scanLimit = 20
	for i := range 5 {
		dir := filepath.Join(w.Dir(), "big", strconv.Itoa(i))
		must(t, os.MkdirAll(dir, 0o700))
		for j := range 4 {
			must(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(j)), nil, 0o600))
		}
	}
	got, err := w.Check([]tongs.Effect{deleting(in("big")), deleting(in("big/1"))})
	must(t, err)
	if !got[0].MustAsk || !strings.Contains(got[0].Why, "too many entries") || got[1].MustAsk {
		t.Errorf("got %+v", got)
	}
}
