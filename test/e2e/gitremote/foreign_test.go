package gitremote

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// The address of a submodule comes from a file of the workspace, so it is no remote of the repository: whoever could write it would read
// every private repository of the person.
func TestSubmoduleAddresses(t *testing.T) {
	s := newServer(t)
	s.repository(t, "secret.git")
	x, _ := cloned(t, s, "shop.git")
	git(t, x.ws, "update-index", "--add", "--cacheinfo", "160000,"+git(t, x.ws, "rev-parse", "HEAD")+",sub")
	x.answer = func(q approval.Question) approval.Answer { // a person who agreed to a change of .git/config agreed to its remotes
		return approval.Answer{Approved: q.Effects[0].Kind == tongs.EffectNetwork && !sends(q)}
	}
	mark := filepath.Join(x.home, "ran-outside")
	for _, address := range []string{
		s.url("secret.git"), "../secret.git", "./../secret.git", "ext::sh -c touch% " + mark, "--upload-pack=touch " + mark, "-u" + mark,
		strings.Replace(s.url("secret.git"), "https://", "https://"+s.host()+"@", 1),
	} {
		x.put(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = "+address+"\n")
		res := x.shell("git -c protocol.ext.allow=always submodule update --init --remote 2>&1; git -c submodule.sub.url='" + address + "' submodule update 2>&1; true")
		if strings.Contains(strings.Join(s.seen, " "), "secret") {
			t.Fatalf("%s reached the other repository: %s", address, res.Content)
		}
		if _, err := os.Lstat(mark); err == nil {
			t.Fatalf("%s ran something outside", address)
		}
	}
	told := false
	for _, q := range x.questions() {
		told = told || strings.Contains(q.Message, "git would log in as you at "+s.url("secret.git")+", which is not a remote of this repository")
	}
	if !told {
		t.Error("no question told of the other repository, so that this proves nothing")
	}
}

// A repository whose name looks like that of a remote is another one, for credentials and for rules.
func TestLookAlikes(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"shop", "shop.git.git", "Shop.git"} {
		s.repository(t, name)
	}
	x, _ := ruled(t, s, "      - {host: \""+s.host()+"\", branch: agent/*, approval: preApproved}\n")
	x.answer = func(q approval.Question) approval.Answer { return approval.Answer{Approved: !sends(q)} }
	x.sh("git commit -q --allow-empty -m mine")
	for _, name := range []string{"shop", "shop.git.git", "Shop.git"} {
		res := x.shell("git push " + s.url(name) + " HEAD:refs/heads/agent/x 2>&1; true")
		asked := x.pushes()
		if len(asked) == 0 {
			t.Errorf("%s: nobody was asked: %s", name, res.Content)
			continue
		}
		has(t, name, asked[0].Message, s.url(name))
		for _, seen := range s.seen {
			if strings.Contains(seen, "/"+name+"/") {
				t.Errorf("%s: the server saw %s", name, seen)
			}
		}
	}
	// Credentials of the program itself do not make it a remote of the repository either.
	header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(login+":"+password))
	x.shell("git -c http.extraHeader='" + header + "' push " + s.url("shop") + " HEAD:refs/heads/agent/x 2>&1; true")
	if asked := x.pushes(); len(asked) != 1 || asked[0].Effects[0].Push == nil || asked[0].Effects[0].Push.Plain {
		t.Errorf("asked %+v", asked)
	}
}
