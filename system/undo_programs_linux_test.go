package system_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// quoted writes a name so that a shell takes it as it is, and no program for an option.
func quoted(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz/._-0123456789") == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

var (
	fileNames = []string{
		"a", "b", "c", "dir/a", "dir/b", "dir/sub/a", "dir/sub/deep/x", "other/a", "sp ace", "-dash", "new\nline", "quo'te",
		"*", "ümlaut", "dir/sp ace", "$x",
	}
	dirNames  = []string{"dir", "dir/sub", "dir/sub/deep", "other", "empty", "new", "new/er", "sp dir"}
	linkNames = []string{"l", "ld", "dir/l", "gone"}
	modes     = []string{"600", "644", "755", "400", "444", "u+x", "go-r", "a-w"}
)

// plant fills a directory with files, directories and links that follow from the seed.
func plant(seed uint64) func(dir string) error {
	return func(dir string) error {
		r := rand.New(rand.NewPCG(seed, 1))
		var errs []error
		for _, name := range dirNames[:5] {
			errs = append(errs, os.MkdirAll(filepath.Join(dir, name), 0o755))
		}
		for i, name := range fileNames {
			if i > 5 && r.IntN(3) > 0 {
				continue
			}
			text := ""
			for range r.IntN(6) {
				text += fmt.Sprintf("line %d of %d\n", r.IntN(9), seed)
			}
			mode := []os.FileMode{0o644, 0o644, 0o600, 0o755, 0o444}[r.IntN(5)]
			host := filepath.Join(dir, name)
			errs = append(errs, os.WriteFile(host, []byte(text), mode), os.Chmod(host, mode))
		}
		for i, name := range linkNames {
			errs = append(errs, os.Symlink([]string{"a", "dir", "../b", "nowhere"}[i], filepath.Join(dir, name)))
		}
		return errors.Join(errs...)
	}
}

// line returns one line of a program. It may fail, as it would directly.
func line(r *rand.Rand) string {
	pick := func(list []string) string { return quoted(list[r.IntN(len(list))]) }
	file := func() string { return pick(fileNames) }
	dir := func() string { return pick(dirNames) }
	any := func() string { return []string{file(), file(), dir(), pick(linkNames)}[r.IntN(4)] }
	forms := []func() string{
		func() string { return "mv " + file() + " " + file() },
		func() string { return "mv -f " + any() + " " + any() },
		func() string { return "mv -T " + any() + " " + any() },
		func() string { return "mv " + dir() + " " + dir() },
		func() string { return "cp " + file() + " " + file() },
		func() string { return "cp -p " + file() + " " + any() },
		func() string { return "cp -a " + any() + " " + any() },
		func() string { return "cp -r " + dir() + "/. " + dir() },
		func() string { return "ln -sf " + any() + " " + any() },
		func() string { return "ln -sfn " + dir() + " " + any() },
		func() string { return "ln -f " + file() + " " + file() },
		func() string { return "ln " + file() + " " + file() },
		func() string { return "cp " + file() + " new1; ln new1 new2; echo more >> new2" },
		func() string { return "install -m " + pick(modes) + " " + file() + " " + file() },
		func() string { return "install -D -m 640 " + file() + " new/deep/" + pick([]string{"a", "b"}) },
		func() string { return "sed -i s/line/LINE/ " + file() },
		func() string { f := file(); return "sed s/of/OF/ " + f + " > t && mv t " + f },
		func() string { return "rm -f " + file() },
		func() string { return "rm -rf " + any() },
		func() string { return "mkdir " + any() },
		func() string { return "mkdir -p " + dir() + "/more/" + pick([]string{"x", "y"}) },
		func() string { return "rmdir " + dir() },
		func() string { return "chmod " + pick(modes) + " " + file() },
		func() string { return "chmod " + pick([]string{"700", "755", "500", "777"}) + " " + dir() },
		func() string { return "touch " + any() },
		func() string { return "touch -d 2001-02-03T04:05:06 " + file() },
		func() string { return "echo " + strconv.Itoa(r.IntN(100)) + " > " + file() },
		func() string { return "echo " + strconv.Itoa(r.IntN(100)) + " >> " + file() },
		func() string { return ": > " + file() },
		func() string { return "truncate -s " + strconv.Itoa(r.IntN(40)) + " " + file() },
		func() string {
			d := dir()
			return "tar cf t.tar " + d + " && rm -rf " + d + " && tar xf t.tar; rm -f t.tar"
		},
		func() string { return "tar cf - " + dir() + " | tar xf - -C " + dir() },
		func() string { d := dir(); return "rm -rf " + d + " && ln -s " + any() + " " + d },
		func() string {
			l := pick(linkNames)
			return "rm -f " + l + " && mkdir " + l + " && echo in > " + l + "/in"
		},
		func() string { d := dir(); return "rm -rf " + d + " && echo file > " + d },
		func() string { f := file(); return "rm -f " + f + " && mkdir " + f + " && cp a " + f },
		func() string {
			a, b := any(), any()
			return "mv -T " + a + " t && mv -T " + b + " " + a + " && mv -T t " + b
		},
		func() string { return "(cd dir/sub && rm -r ../../dir)" },
		func() string { return "(cd dir && rm -rf ./* && echo again > a)" },
		func() string { return "(cd other && { mv ../" + file() + " .; mv a ../" + file() + "; })" },
		func() string { return "rm -rf dir; mkdir -p dir/sub; echo back > dir/sub/a" },
		func() string { d := dir(); return "cp -a " + d + " t && rm -rf " + d + " && mv t " + d },
		func() string { return "mv " + file() + " " + file() + " " + any() + " " + dir() },
		func() string { return "cp -r " + any() + " " + any() + " " + dir() },
		func() string { return "rm -rf " + any() + " " + any() + " " + any() },
		func() string { return "mv -b " + any() + " " + any() },
		func() string { return "cp -b " + file() + " " + file() },
		func() string { return "sed -i.bak s/of/for/ " + file() + " " + file() },
		func() string { return "cp --parents " + file() + " " + dir() },
		func() string { return "cp --remove-destination " + file() + " " + any() },
		func() string { return "install -d -m 750 " + dir() + "/made" },
		func() string { return "chmod -R g-w,u+x " + dir() },
		func() string { return "find " + dir() + " -type f -delete" },
		func() string { return "find " + dir() + " -depth -empty -delete" },
		func() string { return "cat > " + file() + " <<END\nsome\ntext\nEND" },
		func() string { return "dd if=" + file() + " of=" + file() + " bs=3 count=2 conv=notrunc 2>/dev/null" },
		func() string { return "split -l 1 " + file() + " part-" },
		func() string { return "for f in a b c; do mv \"$f\" \"$f.x\"; done" },
		func() string { return "for f in *; do [ -f \"$f\" ] && cp -p \"$f\" \"$f~\"; done" },
		func() string { return "umask 077; mkdir -p new/private; echo x > new/private/x; umask 022" },
		func() string { return "mkdir made && cd made && mv ../" + file() + " . && cd .." },
	}
	return forms[r.IntN(len(forms))]()
}

// program returns the lines of a program that follow from the seed.
func program(seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 2))
	lines := make([]string, 1+r.IntN(6))
	for i := range lines {
		lines[i] = line(r)
	}
	return lines
}

// script runs the lines one after another; that one fails does not matter.
func script(lines []string) string { return strings.Join(append(lines, "true"), "\n") }

// smallest leaves out lines as long as it fails all the same, and returns the rest with how that fails.
func smallest[T any](lines []T, fails func([]T) error) ([]T, error) {
	err := fails(lines)
	for i := 0; i < len(lines); {
		fewer := append(append([]T{}, lines[:i]...), lines[i+1:]...)
		if e := fails(fewer); e != nil && len(fewer) > 0 {
			lines, err = fewer, e
		} else {
			i++
		}
	}
	return lines, err
}

// rounds is how many are tried: TONGS_UNDO_PROGRAMS where that is set. TONGS_UNDO_FIRST is the first seed.
func rounds(t *testing.T, few uint64) (first, end uint64) {
	t.Helper()
	number := func(name string, or uint64) uint64 {
		if s := os.Getenv(name); s != "" {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatalf("%s=%s is not a number", name, s)
			}
			return n
		}
		return or
	}
	first = number("TONGS_UNDO_FIRST", 0)
	return first, first + number("TONGS_UNDO_PROGRAMS", few)
}

// TestUndoOfPrograms runs programs that follow from a seed, through the system and directly.
func TestUndoOfPrograms(t *testing.T) {
	tw := newTwins(t)
	first, end := rounds(t, 30)
	failed := 0
	for seed := first; seed < end && failed < 5; seed++ {
		try := func(lines []string) error {
			if err := tw.begin(plant(seed)); err != nil {
				t.Fatal(err)
			}
			return tw.thereAndBack(func() error { return tw.shell(script(lines)) }, nil)
		}
		if err := try(program(seed)); err != nil {
			lines, err := smallest(program(seed), try)
			t.Errorf("TONGS_UNDO_FIRST=%d: %v\n--- program\n%s", seed, err, script(lines))
			failed++
		}
	}
}

// oddPrograms are programs that ran directly once, or could not be undone.
var oddPrograms = []string{
	"mv a b", "cp a b", "ln -sf a b", "install -m 755 a b", "sed s/line/LINE/ a > t && mv t a", "ln -f a b",
	"mv a l", "install a l", "ln -sf b l", "ln -sfn other ld", "mv -T a ld",
	"cd dir/sub; rm -r ../../dir", "cd dir/sub\nrm -r ../../dir", "cd dir; echo x > ../a; rm ../b",
	"rm -r dir && ln -s other dir", "rm -r dir && ln -s other dir && echo x >> dir/a", "rm ld && mkdir ld && cp a ld",
	"rm -r dir && echo x > dir", "rm a && mkdir -p a/b/c && echo x > a/b/c/d", "rm b; mkdir b; mv a b",
	"mv dir t && mv other dir && mv t other", "mv -T a t && mv -T dir a && mv -T t dir", "mv l t && mv dir l && mv t dir",
	"rm -r dir; mkdir -p dir/sub; echo x > dir/sub/a", "chmod 700 dir && chmod 600 dir/a && rm -r dir/sub",
	": > new", "mkdir -p new/er", "touch new && chmod 400 new", "ln -s nowhere new",
}

// TestUndoOfOddPrograms runs each of them through the system and directly.
func TestUndoOfOddPrograms(t *testing.T) {
	tw := newTwins(t)
	for i, program := range oddPrograms {
		if err := tw.begin(plant(uint64(i))); err != nil {
			t.Fatal(err)
		}
		if err := tw.thereAndBack(func() error { return tw.shell(program + "\ntrue") }, nil); err != nil {
			t.Errorf("%s: %v", program, err)
		}
	}
}
