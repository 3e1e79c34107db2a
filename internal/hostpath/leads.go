package hostpath

import (
	"path"
	"path/filepath"
	"strings"
)

// LeadsOut reports whether a link leads out of its root, or may, by its path below the root and what is written in it. Both
// have slashes.
func LeadsOut(link, to string) bool {
	return path.IsAbs(to) || climbsFromName(to) || !filepath.IsLocal(path.Join(path.Dir(link), to))
}

// climbsFromName reports whether a target goes up from something that it names. That may be a link, or become one, so where
// it leads cannot be told from its text.
func climbsFromName(to string) bool {
	named := false
	for element := range strings.SplitSeq(to, "/") {
		switch element {
		case "", ".":
		case "..":
			if named {
				return true
			}
		default:
			named = true
		}
	}
	return false
}
