package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

// diskName returns the name, as the directory has it, of the existing entry that name leads to. On a file system that
// ignores case, or the composition of characters, or that knows short names, several names lead to one entry.
func diskName(dir, name string) string {
	if !ambiguous(dir, name) {
		return name
	}
	f, err := os.Open(dir)
	if err != nil {
		return name
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil || slices.Contains(names, name) {
		return name
	}
	fi, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return name
	}
	return pickName(name, names, func(other string) bool {
		o, err := os.Lstat(filepath.Join(dir, other))
		return err == nil && os.SameFile(fi, o)
	})
}

// pickName returns which of the names of a directory the given one leads to: the one that differs by case only, or
// else, for a name that could be a short or a composed one, any that is the same file.
func pickName(name string, names []string, same func(string) bool) string {
	for _, other := range names {
		if strings.EqualFold(other, name) && same(other) {
			return other
		}
	}
	if asciiOnly(name) && !strings.Contains(name, "~") {
		return name
	}
	for _, other := range names {
		if same(other) {
			return other
		}
	}
	return name
}

// ambiguous reports whether another name may lead to the same entry: the name in the other case does, or the system
// is one that compares names by more than their bytes.
func ambiguous(dir, name string) bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		if !asciiOnly(name) || strings.Contains(name, "~") {
			return true
		}
	}
	swapped := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, name)
	if swapped == name {
		return false
	}
	other, err := os.Lstat(filepath.Join(dir, swapped))
	if err != nil {
		return false
	}
	fi, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && os.SameFile(fi, other)
}

func asciiOnly(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// windowsName says why a name cannot be used on Windows, "" where it can: there, several of these reach a device, a
// hidden stream or another file than they seem to.
func windowsName(name string) string {
	if strings.ContainsRune(name, ':') {
		return "holds a colon, which names a drive or an alternate stream"
	}
	if strings.ContainsAny(name, `\/<>"|?*`) || strings.IndexFunc(name, func(r rune) bool { return r < ' ' }) >= 0 {
		return "holds a character that Windows does not allow"
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return "ends in a dot or a space, which Windows drops"
	}
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	base = strings.TrimRight(base, " ")
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return "is the name of a device"
	}
	if rest, ok := strings.CutPrefix(base, "COM"); ok || strings.HasPrefix(base, "LPT") {
		if !ok {
			rest = base[len("LPT"):]
		}
		if len([]rune(rest)) == 1 && strings.ContainsAny(rest, "0123456789¹²³") {
			return "is the name of a device"
		}
	}
	return ""
}
