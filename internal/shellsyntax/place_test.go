package shellsyntax_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What replaces a file is a write of that file inside the workspace, and nothing that must be asked about. Nothing is written
// below a file, unless another part of the command may make a directory of it.
func TestPlacesOfFiles(t *testing.T) {
	s := newSite(t)
	write(t, filepath.Join(s.dir, "src/sub/x"), "")
	for link, to := range map[string]string{"tofile": "a.txt", "todir": "src", "out": "/etc", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(s.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for src, want := range map[string]string{
		"mv a.txt b.txt":                             "read a.txt|delete a.txt|write b.txt",
		"mv -f a.txt ./b.txt":                        "read a.txt|delete a.txt|write b.txt",
		"cp a.txt b.txt":                             "read a.txt|write b.txt",
		"install -m 755 a.txt b.txt":                 "read a.txt|write b.txt",
		"ln -sf a.txt b.txt":                         "write b.txt",
		"ln -f a.txt b.txt":                          "read a.txt|write b.txt",
		"sed s/a/b/ a.txt > t && mv t a.txt":         "write t|read a.txt|read t|delete t|write ?|write a.txt",
		"cd src && mv ../a.txt ../b.txt":             "read src|read a.txt|delete a.txt|write b.txt",
		"cd src && cp main.go ../b.txt":              "read src|read src/main.go|write b.txt",
		"mv a.txt b.txt/":                            "read a.txt|delete a.txt",
		"mv a.txt tofile":                            "read a.txt|delete a.txt|delete tofile",
		"ln -sfn docs tofile":                        "delete tofile",
		"ln -sfn docs todir":                         "delete todir|write src/docs",
		"mv -T a.txt todir":                          "read a.txt|delete a.txt|delete todir",
		"mv -T a.txt out":                            "read a.txt|delete a.txt|delete out",
		"mv a.txt out":                               "read a.txt|delete a.txt|write ? must|write ? must",
		"cp a.txt tofile":                            "read a.txt|write a.txt",
		"cp a.txt out":                               "read a.txt|write ? must|write ? must",
		"touch b.txt/x":                              "write ?",
		"rm b.txt; mkdir b.txt; touch b.txt/x":       "delete b.txt|write b.txt|write ?",
		"echo x > loop; rm loop/x":                   "write ?|delete ?",
		"mkdir new && cd new && cat ../a.txt > ../x": "write new|read new|write x|write ?|read a.txt",
		"mkdir new && cd new && rm ../../x":          "write new|read new|delete ? must|delete ?",
		"cd src && cp main.go x && touch ../y":       "read src|read src/main.go|write src/x|write src/x/main.go|write y",
		"cd src && ls > x && cd .. && touch y":       "read src|write src/x|read .|write y",
		"cd src && false || touch y":                 "read src|write y|write src/y",
		"cd src && ls; touch y":                      "read src|write y|write src/y",
		"cat b.txt/x/y":                              "read b.txt",
		// Another part of the command may make a directory of it, or a link to one.
		"rm b.txt; mkdir b.txt; mv a.txt b.txt":                 "delete b.txt|write b.txt|read a.txt|delete a.txt|write ?",
		"ln -sfn src b.txt; cp a.txt b.txt":                     "write b.txt|read a.txt|write ?|write ?",
		"cp a.txt b.txt; ln -sfn src b.txt":                     "read a.txt|write b.txt|write ?|write ?",
		"for i in 1 2; do cp a.txt b.txt; done":                 "read a.txt|write b.txt|write ?",
		"f() { cp a.txt b.txt; }; f":                            "read a.txt|write b.txt|write ?",
		"rm -r src; mkdir -p src/main.go; cp a.txt src/main.go": "delete src|write src/main.go|read a.txt|write ?",
		// A directory that is there is where cd goes to.
		"cd src/sub; rm -r ../../docs":            "read src/sub|delete ?|delete docs",
		"cd src/sub; rm -r ../../../x":            "read src/sub|delete ?|delete ? must",
		"cd src/none; rm -r ../../docs":           "read src/none|delete ? must|delete docs|delete ?",
		"rm -r src; cd src/sub; rm -r ../../docs": "delete src|read src/sub|delete ? must|delete docs",
		"cd src/sub; echo x > ../../a.txt":        "read src/sub|write ?|write a.txt",
	} {
		var got []string
		for _, line := range told(analyse(t, s, src).Effects) {
			if !strings.HasPrefix(line, "execute") {
				got = append(got, line)
			}
		}
		if have := strings.Join(got, "|"); have != want {
			t.Errorf("%q:\n got %s\nwant %s", src, have, want)
		}
	}
}
