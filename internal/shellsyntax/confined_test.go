package shellsyntax_test

import (
	"strings"
	"testing"
)

// What a command reads in the full sandbox is confined to what that shows. What it shows to everybody is no effect; a place
// that it hides is asked about.
func TestConfined(t *testing.T) {
	s := newSite(t)
	s.world.Confined, s.world.Shown, s.world.Scratch, s.world.Home = true, []string{"/usr", "/etc/os-release"}, []string{"/tmp-private"}, "/tmp-private/home"
	for src, want := range map[string]string{
		`cat "$x"`:                          "execute cat «\"$x\"|read ? confined",
		"cat /usr/include/stdio.h":          "execute cat /usr/include/stdio.h",
		"cat /etc/os-release":               "execute cat /etc/os-release",
		"cat /etc/os-release2":              "execute cat /etc/os-release2|read ?",
		"cat /usr/../root/x":                "execute cat /usr/../root/x|read ?",
		"cat /root/x":                       "execute cat /root/x|read ?",
		"cat /root/*":                       "execute cat /root/«/root/*|read ?",
		`cat "/root/$x"`:                    "execute cat /root/«\"/root/$x\"|read ?",
		"cat ~/.ssh/id_rsa":                 "execute cat /tmp-private/home/.ssh/id_rsa|read ?",
		"ls /":                              "execute ls /|read ? confined",
		"cat /proc/self/environ":            "execute cat /proc/self/environ|read ? confined",
		"echo x > /usr/x":                   "write ? must|execute echo x",
		"echo x > ~/.bashrc":                "write ? must|execute echo x",
		"rm -rf /root/*":                    "execute rm -rf /root/«/root/*|delete ? must",
		`rm -rf "/root/$x"`:                 "execute rm -rf /root/«\"/root/$x\"|delete ? must",
		"rm /tmp-private/x":                 "execute rm /tmp-private/x|delete ? confined",
		"rm /tmp-private/x a.txt":           "execute rm /tmp-private/x a.txt|delete ? confined|delete a.txt",
		"find / -delete":                    "execute find / -delete|read ? confined|delete ?|delete ? must",
		"git config core.hooksPath x":       "execute git config core.hooksPath x|write .git/config|write ?|execute ?",
		"git config --global a.b x":         "execute git config --global a.b x|write ? must|write ?|execute ?",
		"git config --file=/etc/x a.b x":    "execute git config --file=/etc/x a.b x|read ?|write ? must|write ?|execute ?",
		"git config --get a.b":              "execute git config --get a.b",
		"cargo publish":                     "network ? sends|execute cargo publish",
		"cargo test publish":                "execute cargo test publish",
		"yarn npm publish":                  "network ? sends|execute yarn npm publish bound|execute ?",
		"npm run publish":                   "execute npm run publish bound|execute ?",
		"telnet example.com":                "execute telnet example.com|network ? sends|execute ?",
		"git archive --remote=ssh://x HEAD": "execute git archive --remote=ssh://x HEAD|network ? sends|execute ?|read .git|write ?",
	} {
		if got := strings.Join(told(analyse(t, s, src).Effects), "|"); got != want {
			t.Errorf("%q:\n got %s\nwant %s", src, got, want)
		}
	}
	s.world.Confined = false
	for _, src := range []string{`cat "$x"`, "cat /usr/x", "cat /tmp-private/x", "ls /", "cat /proc/1/environ"} {
		if got := strings.Join(told(analyse(t, s, src).Effects), "|"); !strings.HasSuffix(got, "|read ?") {
			t.Errorf("%q outside of a full sandbox: %s", src, got)
		}
	}
}
