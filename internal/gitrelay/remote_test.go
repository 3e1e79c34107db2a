package gitrelay

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitssh"
	"github.com/tongs-ai/tongs/network"
)

func remote(t *testing.T, scheme, user, host, path string) Remote {
	t.Helper()
	target, err := network.ParseTarget(host, ports[scheme])
	if err != nil {
		t.Fatal(err)
	}
	return Remote{Scheme: scheme, User: user, Target: target, Path: path}
}

// A remote is shown as what is really used, whatever it looks like.
func TestRemoteIsShownAsItIs(t *testing.T) {
	for _, test := range []struct{ scheme, user, host, path, want string }{
		{"https", "", "github.com", "/you/shop", "https://github.com/you/shop"},
		{"https", "", "github.com:8443", "/you/shop", "https://github.com:8443/you/shop"},
		{"https", "", "GitHub.com.", "/you/shop", "https://github.com/you/shop"},
		{"https", "", "gіthub.com", "/you/shop", "https://xn--gthub-n2e.com/you/shop"}, // a Cyrillic letter
		{"https", "", "[::1]", "/x", "https://[::1]/x"},
		{"https", "", "a.example", "/x%E2%80%AEy", "https://a.example/x%E2%80%AEy"},
		{"ssh", "git", "github.com", "you/shop", "ssh://git@github.com/you/shop"},
		{"ssh", "git", "github.com:2222", "/you/shop", "ssh://git@github.com:2222/you/shop"},
		{"ssh", "git", "github.com", "you/\u202eshop", `ssh://git@github.com/you/\xe2\x80\xaeshop`},
	} {
		if got := remote(t, test.scheme, test.user, test.host, test.path).String(); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// Two spellings of one repository are the same one, and nothing else is.
func TestConfiguredRemotes(t *testing.T) {
	own := remote(t, "https", "", "github.com", "/you/shop")
	work := Remote{Scheme: "ssh", written: "git@work:22", Path: "you/shop.git"}
	for _, test := range []struct {
		address string
		remote  Remote
		same    bool
	}{
		{"https://github.com/you/shop", own, true},
		{"https://github.com/you/shop.git", own, false}, // a server may have both
		{"https://token@github.com:443/you/shop/", own, true},
		{"https://GITHUB.com/you/shop", own, true},
		{"https://github.com/you/Shop", own, false},
		{"https://github.com/you/shop2", own, false},
		{"https://github.com:8443/you/shop", own, false},
		{"http://github.com/you/shop", own, false},
		{"https://evil.example/github.com/you/shop", own, false},
		{"https://github.com@evil.example/you/shop", own, false},
		{"git@work:you/shop.git", work, true},
		{"git@work:you/shop", work, false},
		{"git@work:/you/shop.git", work, false},
		{"ssh://git@work/you/shop.git", work, false}, // that is a path from the root
		{"other@work:you/shop.git", work, false},
		{"ext::sh -c x", own, false},
		{"/srv/git/shop", own, false},
	} {
		r, ok := parseRemote(test.address)
		if same := ok && r.same() == test.remote.same(); same != test.same {
			t.Errorf("%s: %v", test.address, same)
		}
	}
}

func sshArgs(args ...string) *http.Request {
	r := &http.Request{Header: http.Header{}}
	r.Header.Set(gitssh.Args, hex.EncodeToString([]byte(strings.Join(append(args, ""), "\x00"))))
	return r
}

// What git gives ssh is taken only as git gives it.
func TestSSHRequests(t *testing.T) {
	q, err := parseSSH(sshArgs("-o", "SendEnv=GIT_PROTOCOL", "-p", "2222", "git@example.com", `git-upload-pack '/it'\''s here'`))
	if err != nil || q.given != "example.com" || q.port != "2222" || q.remote.User != "git" || q.remote.Path != "/it's here" || q.service != uploadPack {
		t.Errorf("%+v: %v", q, err)
	}
	for _, args := range [][]string{
		{},
		{"host"},
		{"host", "ls"},
		{"host", "git-upload-pack"},
		{"host", "git-upload-pack x"},
		{"host", "git-upload-pack 'x' 'y'"},
		{"host", "git-upload-pack 'x'; ls"},
		{"host", "git-upload-pack 'x''; ls '"},
		{"host", "git-upload-pack 'x\n'"},
		{"host", "git-upload-pack '--x'"},
		{"host", "git-upload-pack ''"},
		{"host", "git-upload-archive 'x'"},
		{"host", "git-upload-pack 'x'", "more"},
		{"-oProxyCommand=x", "host", "git-upload-pack 'x'"},
		{"-o", "ProxyCommand=x", "host", "git-upload-pack 'x'"},
		{"-F", "x", "host", "git-upload-pack 'x'"},
		{"-p", "0", "host", "git-upload-pack 'x'"},
		{"-p", "22 -x", "host", "git-upload-pack 'x'"},
		{"a b", "git-upload-pack 'x'"},
		{"-x@host", "git-upload-pack 'x'"},
		{"a@-x", "git-upload-pack 'x'"},
		{"a\nb", "git-upload-pack 'x'"},
		{"", "git-upload-pack 'x'"},
		{"@", "git-upload-pack 'x'"},
		{"$(x)", "git-upload-pack 'x'"},
	} {
		if q, err := parseSSH(sshArgs(args...)); err == nil {
			t.Errorf("%q is taken for %+v", args, q)
		}
	}
}

// Lines of git are read to their bound, and garbage is an error.
func TestLines(t *testing.T) {
	for _, text := range []string{"", "0", "00", "zzzz", "0001", "0003", "fff1", "ffff", "000a123", "-001", "+004", "0x04"} {
		if line, err := readLine(strings.NewReader(text)); err == nil {
			t.Errorf("%q is %q", text, line)
		}
	}
	lines, err := section(strings.NewReader("0007abc00040000rest"), 100)
	if err != nil || len(lines) != 2 || string(lines[0]) != "abc" || len(lines[1]) != 0 {
		t.Errorf("%q, %v", lines, err)
	}
	if _, err := section(strings.NewReader(strings.Repeat("0007abc", 1000)), 100); err == nil {
		t.Error("a section has no end")
	}
}

func TestReferenceNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"refs/heads/main": true, "refs/heads/a/b-c.d": true, "refs/heads/ä": true, "refs/tags/v1": true, "refs/notes/x": true,
		"HEAD": false, "heads/main": false, "refs/": false, "refs/heads/": false, "refs/heads/a b": false, "refs/heads/a\nb": false, "refs/heads/..": false,
		"refs/heads/a..b": false, "refs/heads/a.lock": false, "refs/heads/.a": false, "refs/heads/a~1": false, "refs/heads/a^": false, "refs/heads/a:b": false,
		"refs/heads/a\x7f": false, "refs/heads/@{": false, "refs/heads//a": false, "refs/heads/a.": false, "refs/heads/a*": false, `refs/heads/a\b`: false,
	} {
		if validRef(name) != ok {
			t.Errorf("%q: %v", name, !ok)
		}
	}
}
