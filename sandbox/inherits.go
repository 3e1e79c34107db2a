package sandbox

import (
	"slices"
	"strings"
	"sync"
)

// Inherits returns a function that reports whether programs under Default's policy may start with a variable in their
// environment, by its name. It is safe for concurrent use; what is installed is looked at when it is first asked.
func Inherits(opt PresetOptions) func(name string) bool {
	opt.Cache = Cache{} // the names are the same, and nothing is made
	env := sync.OnceValue(func() []string { return Default("/", opt).Env })
	return func(name string) bool {
		// Shells export these themselves, and proxies are named where a host is allowed.
		if slices.Contains([]string{"_", "SHLVL", "PWD", "OLDPWD"}, name) || strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			return true
		}
		return slices.ContainsFunc(env(), func(e string) bool {
			given, _, _ := strings.Cut(e, "=")
			return given == name
		})
	}
}
