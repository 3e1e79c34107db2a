package shellsyntax_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// unknownOptions are commands of programs that only read, with an option that makes them do more or that is not known.
const unknownOptions = `nm --plugin ./e.so a.txt
nm --plug=./e.so a.txt
nm @a.txt
nm *.o
readelf @a.txt
readelf -a @a.txt
readelf --process-links a.txt
size @a.txt
strings @a.txt
strings -n 5 @a.txt
strings "$X"
wc --files0-fr=a.txt
wc --files0=a.txt
du --files0-f a.txt
sort --compress=./x a.txt
diff -l a.txt b.txt
diff --pag a.txt b.txt
md5sum -c a.txt
sha256sum --chec a.txt
head --nosuch a.txt
rg -z foo
rg --search-zip foo
xzcat --files=a.txt
nm -A@a.txt @a.txt
readelf -x @a.txt
sort --files0-from=a.txt
jq --from-fil=a.txt .
cat --show-al a.txt
hexdump -f .env a.txt
md5sum --check .env`

const knownOptions = `nm -C ./a.txt
nm --demangle -g src/main.go
readelf -aW a.txt
strings -n 8 a.txt
size a.txt
ls -la *.txt
du -sh src
df -h .
cut -d: -f1,3 --output-delimiter=' ' a.txt
md5sum a.txt
sha256sum --tag a.txt
diff -ru src docs
hexdump -C a.txt
base64 -d a.txt
tr -d '\n'
seq -w 1 5
basename -s .txt a.txt
id -un`

// Programs that only read are trusted with the options that are known of them, and with no others.
func TestReaderOptions(t *testing.T) {
	s := newSite(t)
	decide := func(src string) tongs.Decision {
		name, _, _ := strings.Cut(src, " ")
		rules := append(permissiveRules(), rule(name, tongs.PreApproved), rule("df", tongs.PreApproved))
		v, _, err := s.decide(src, rules...)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		return v.Decision
	}
	for src := range strings.SplitSeq(unknownOptions, "\n") {
		if decide(src) == tongs.PreApproved {
			t.Errorf("%q is approved with the program", src)
		}
	}
	for src := range strings.SplitSeq(knownOptions, "\n") {
		if d := decide(src); d != tongs.PreApproved {
			t.Errorf("%q: %s, want preApproved", src, d)
		}
	}
}
