package workspace

import (
	"slices"

	"github.com/tongs-ai/tongs"
)

// Name is an entry of the list of protected names.
type Name struct {
	// Pattern is one or more names, separated by slashes; one * in a name stands for any part of it. It means every path that
	// has these names in a row, at any depth, and everything below.
	Pattern string
	// Why completes "protected: ", or "secret: " where Secret is set.
	Why string
	// Secret names are asked for when they are read, too.
	Secret bool
}

// names is the one list of protected names, for file tools and for the sandbox.
var names = []Name{
	{Pattern: ".git", Why: "git runs hooks and configured programs from it"},
	{Pattern: ".gitmodules", Why: "git fetches code from the places it names"},
	{Pattern: ".gitconfig", Why: "git runs programs that it names"},
	{Pattern: ".hg", Why: "Mercurial runs hooks from it"},
	{Pattern: ".svn", Why: "Subversion keeps its state in it"},
	{Pattern: ".husky", Why: "git hooks run from it"},
	{Pattern: ".pre-commit-config.yaml", Why: "git hooks run what it names"},
	{Pattern: "lefthook.y*ml", Why: "git hooks run what it names"},
	{Pattern: ".lefthook.y*ml", Why: "git hooks run what it names"},

	{Pattern: ".mcp.json", Why: "agents start the servers it names"},
	{Pattern: ".claude", Why: "it configures an agent"},
	{Pattern: ".claude.json", Why: "it configures an agent"},
	{Pattern: ".codex", Why: "it configures an agent"},
	{Pattern: ".gemini", Why: "it configures an agent"},
	{Pattern: ".cursor", Why: "it configures an agent"},
	{Pattern: ".windsurf", Why: "it configures an agent"},
	{Pattern: ".continue", Why: "it configures an agent"},
	{Pattern: ".aider.conf.yml", Why: "it configures an agent"},
	{Pattern: ".vscode", Why: "the editor runs tasks and settings from it"},
	{Pattern: "*.code-workspace", Why: "the editor runs tasks and settings from it"},
	{Pattern: ".idea", Why: "the editor runs configurations from it"},
	{Pattern: ".zed", Why: "the editor runs tasks from it"},
	{Pattern: ".devcontainer", Why: "the editor starts containers from it"},
	{Pattern: ".devcontainer.json", Why: "the editor starts containers from it"},
	{Pattern: ".vim", Why: "the editor runs it"},
	{Pattern: ".vimrc", Why: "the editor runs it"},
	{Pattern: ".nvimrc", Why: "the editor runs it"},
	{Pattern: ".nvim.lua", Why: "the editor runs it"},
	{Pattern: ".exrc", Why: "the editor runs it"},
	{Pattern: ".emacs", Why: "the editor runs it"},
	{Pattern: ".emacs.d", Why: "the editor runs it"},
	{Pattern: ".dir-locals.el", Why: "the editor runs it"},
	{Pattern: ".gdbinit", Why: "the debugger runs it"},
	{Pattern: ".lldbinit", Why: "the debugger runs it"},

	{Pattern: ".envrc", Why: "direnv runs it on entering the directory"},
	{Pattern: ".direnv", Why: "direnv runs it on entering the directory"},
	{Pattern: "mise.toml", Why: "mise runs what it names on entering the directory"},
	{Pattern: ".mise.toml", Why: "mise runs what it names on entering the directory"},
	{Pattern: ".bashrc", Why: "shells run it"},
	{Pattern: ".bash_profile", Why: "shells run it"},
	{Pattern: ".bash_login", Why: "shells run it"},
	{Pattern: ".bash_logout", Why: "shells run it"},
	{Pattern: ".bash_aliases", Why: "shells run it"},
	{Pattern: ".profile", Why: "shells run it"},
	{Pattern: ".zshrc", Why: "shells run it"},
	{Pattern: ".zprofile", Why: "shells run it"},
	{Pattern: ".zshenv", Why: "shells run it"},
	{Pattern: ".zlogin", Why: "shells run it"},
	{Pattern: ".zlogout", Why: "shells run it"},
	{Pattern: ".kshrc", Why: "shells run it"},
	{Pattern: ".cshrc", Why: "shells run it"},
	{Pattern: ".tcshrc", Why: "shells run it"},
	{Pattern: ".login", Why: "shells run it"},
	{Pattern: ".inputrc", Why: "shells read key bindings from it"},
	{Pattern: ".config/fish", Why: "shells run it"},
	{Pattern: ".tmux.conf", Why: "the terminal runs it"},
	{Pattern: ".xinitrc", Why: "the desktop runs it"},
	{Pattern: ".xprofile", Why: "the desktop runs it"},
	{Pattern: ".xsession", Why: "the desktop runs it"},
	{Pattern: ".config/autostart", Why: "the desktop runs it"},
	{Pattern: ".config/systemd", Why: "the system runs services from it"},
	{Pattern: "Library/LaunchAgents", Why: "the system runs services from it"},
	{Pattern: ".ssh", Why: "it holds keys and decides who may log in", Secret: true},

	{Pattern: ".github/workflows", Why: "CI runs it"},
	{Pattern: ".github/actions", Why: "CI runs it"},
	{Pattern: ".gitlab-ci.yml", Why: "CI runs it"},
	{Pattern: ".gitlab/ci", Why: "CI runs it"},
	{Pattern: ".circleci", Why: "CI runs it"},
	{Pattern: ".buildkite", Why: "CI runs it"},
	{Pattern: ".woodpecker", Why: "CI runs it"},
	{Pattern: ".woodpecker.y*ml", Why: "CI runs it"},
	{Pattern: ".drone.y*ml", Why: "CI runs it"},
	{Pattern: ".travis.yml", Why: "CI runs it"},
	{Pattern: ".cirrus.yml", Why: "CI runs it"},
	{Pattern: ".appveyor.yml", Why: "CI runs it"},
	{Pattern: "appveyor.yml", Why: "CI runs it"},
	{Pattern: "Jenkinsfile", Why: "CI runs it"},
	{Pattern: "azure-pipelines.y*ml", Why: "CI runs it"},
	{Pattern: ".azure-pipelines", Why: "CI runs it"},
	{Pattern: "bitbucket-pipelines.yml", Why: "CI runs it"},
	{Pattern: "cloudbuild.y*ml", Why: "CI runs it"},
	{Pattern: "buildspec.y*ml", Why: "CI runs it"},
	{Pattern: ".forgejo/workflows", Why: "CI runs it"},
	{Pattern: ".gitea/workflows", Why: "CI runs it"},

	{Pattern: ".npmrc", Why: "it changes what package managers run, and holds tokens", Secret: true},
	{Pattern: ".yarnrc", Why: "it changes what package managers run"},
	{Pattern: ".yarnrc.yml", Why: "it changes what package managers run"},
	{Pattern: ".pnpmfile.cjs", Why: "package managers run it"},
	{Pattern: ".pypirc", Why: "it holds upload credentials", Secret: true},
	{Pattern: "pip.conf", Why: "it changes where packages come from"},
	{Pattern: ".cargo/config", Why: "it changes what builds run"},
	{Pattern: ".cargo/config.toml", Why: "it changes what builds run"},
	{Pattern: ".cargo/credentials*", Why: "it holds credentials", Secret: true},
	{Pattern: ".bundle/config", Why: "it changes what builds run"},
	{Pattern: ".mvn", Why: "it changes what builds run"},
	{Pattern: ".bazelrc", Why: "it changes what builds run"},

	{Pattern: "tongs.yaml", Why: "it configures Tongs"},
	{Pattern: "tongs.yml", Why: "it configures Tongs"},
	{Pattern: "*.worker", Why: "it configures a worker"},

	{Pattern: ".env", Why: "it holds credentials", Secret: true},
	{Pattern: ".env.*", Why: "it holds credentials", Secret: true},
	{Pattern: "*.env", Why: "it holds credentials", Secret: true},
	{Pattern: "*.pem", Why: "it may hold a private key", Secret: true},
	{Pattern: "*.key", Why: "it may hold a private key", Secret: true},
	{Pattern: "*.p12", Why: "it holds a private key", Secret: true},
	{Pattern: "*.pfx", Why: "it holds a private key", Secret: true},
	{Pattern: "*.ppk", Why: "it holds a private key", Secret: true},
	{Pattern: "*.jks", Why: "it holds private keys", Secret: true},
	{Pattern: "*.keystore", Why: "it holds private keys", Secret: true},
	{Pattern: "*.kdbx", Why: "it holds passwords", Secret: true},
	{Pattern: "*.tfstate", Why: "it holds credentials in plain text", Secret: true},
	{Pattern: "id_rsa", Why: "it is a private key", Secret: true},
	{Pattern: "id_dsa", Why: "it is a private key", Secret: true},
	{Pattern: "id_ecdsa*", Why: "it is a private key", Secret: true},
	{Pattern: "id_ed25519*", Why: "it is a private key", Secret: true},
	{Pattern: ".netrc", Why: "it holds passwords", Secret: true},
	{Pattern: "_netrc", Why: "it holds passwords", Secret: true},
	{Pattern: ".pgpass", Why: "it holds passwords", Secret: true},
	{Pattern: ".my.cnf", Why: "it holds passwords", Secret: true},
	{Pattern: ".htpasswd", Why: "it holds passwords", Secret: true},
	{Pattern: ".git-credentials", Why: "it holds passwords", Secret: true},
	{Pattern: ".vault-token", Why: "it holds a token", Secret: true},
	{Pattern: ".dockercfg", Why: "it holds credentials", Secret: true},
	{Pattern: ".docker/config.json", Why: "it holds credentials", Secret: true},
	{Pattern: ".aws", Why: "it holds credentials", Secret: true},
	{Pattern: ".azure", Why: "it holds credentials", Secret: true},
	{Pattern: ".config/gcloud", Why: "it holds credentials", Secret: true},
	{Pattern: ".kube", Why: "it holds credentials", Secret: true},
	{Pattern: ".gnupg", Why: "it holds private keys", Secret: true},
	{Pattern: "credentials.json", Why: "it holds credentials", Secret: true},
	{Pattern: "client_secret*.json", Why: "it holds credentials", Secret: true},
	{Pattern: "service-account*.json", Why: "it holds credentials", Secret: true},
	{Pattern: "secrets.y*ml", Why: "it holds credentials", Secret: true},
	{Pattern: "secrets.json", Why: "it holds credentials", Secret: true},
	{Pattern: "secrets.toml", Why: "it holds credentials", Secret: true},
}

// public are exceptions: names of the list that hold nothing.
var public = []string{
	".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", "example.env", "sample.env",
	"id_ecdsa*.pub", "id_ed25519*.pub",
}

// ProtectedNames returns the list of protected names. Writing or deleting one is asked for in every mode; reading one
// is where it is Secret. Names match whatever their case is, through characters that a file system ignores or
// takes for others, and as the short names of NTFS. Repositories that do not look like one by their name are not in
// the list: see Workspace.Protected.
func ProtectedNames() []Name { return slices.Clone(names) }

// Protected reports whether writing or deleting p must be asked for, and why: its name is in the list, it is a part of a
// directory that git would take for a repository, or that would be one with it, or git's configuration names it.
func (w *Workspace) Protected(p tongs.Path) (why string, ok bool) {
	if n := nameList().find(formsOf(p.Judged().Rel), false); n != nil {
		return "protected: " + n.Why, true
	}
	if why, ok = w.repository(p); ok {
		return why, true
	}
	return w.configured(p)
}

// Secret reports whether reading p must be asked for, and why.
func (w *Workspace) Secret(p tongs.Path) (why string, ok bool) {
	if n := nameList().find(formsOf(p.Judged().Rel), true); n != nil {
		return "secret: " + n.Why, true
	}
	return "", false
}
