package treestate

import (
	"maps"
	"slices"
)

// recreated are directories that tools make again from other files, by name. Those with a list count only where one of the files
// is beside them; "./" names a file in the directory itself.
var recreated = map[string][]string{
	"node_modules": nil, "bower_components": nil, ".next": nil, ".nuxt": nil, ".svelte-kit": nil, ".parcel-cache": nil, ".turbo": nil,
	".venv": nil, "venv": {"./pyvenv.cfg"}, "env": {"./pyvenv.cfg"}, "__pycache__": nil, ".tox": nil, ".nox": nil,
	".mypy_cache": nil, ".pytest_cache": nil, ".ruff_cache": nil,
	"target": {"Cargo.toml", "pom.xml", "build.sbt"}, ".gradle": nil, ".terraform": nil,
}

// Recreated are the names of the directories that are left out, sorted.
func Recreated() []string { return slices.Sorted(maps.Keys(recreated)) }

// isRecreated reports whether a directory is left out: beside and inside report whether a file is there.
func isRecreated(name string, beside, inside func(string) bool) bool {
	files, ok := recreated[name]
	if !ok || len(files) == 0 {
		return ok
	}
	return slices.ContainsFunc(files, func(file string) bool {
		if len(file) > 2 && file[:2] == "./" {
			return inside(file[2:])
		}
		return beside(file)
	})
}
