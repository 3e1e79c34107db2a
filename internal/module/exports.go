package module

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// passedOn matches what exports whatever a package does, which nobody knows without bundling that.
var passedOn = regexp.MustCompile(`export\s*\*\s*from\s*["'][^."'/]`)

// missingJavaScript says which tools a file does not export, as far as that shows without running it. Files of CommonJS export what
// they do when they run.
func missingJavaScript(c *Config, label string, files map[string][]byte) map[string]string {
	for _, data := range files {
		if passedOn.Match(data) {
			return nil
		}
	}
	dir := filepath.Dir(c.Module)
	from, err := json.Marshal("./" + filepath.Base(c.Module))
	if err != nil {
		return nil
	}
	r := &reader{files: map[string][]byte{}}
	res := api.Build(api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: fmt.Sprintf("export * from %s;\n", from), ResolveDir: dir, Sourcefile: "tongs", Loader: api.LoaderJS},
		Bundle: true, Platform: api.PlatformNode, Format: api.FormatESModule, TsconfigRaw: "{}", Packages: api.PackagesExternal, Metafile: true,
		LogLevel: api.LogLevelSilent, AbsWorkingDir: dir, Plugins: []api.Plugin{r.plugin()},
	})
	var found struct {
		Inputs  map[string]struct{ Format string }
		Outputs map[string]struct{ Exports []string }
	}
	if len(res.Errors) > 0 || json.Unmarshal([]byte(res.Metafile), &found) != nil {
		return nil
	}
	for _, in := range found.Inputs {
		if in.Format == "cjs" {
			return nil
		}
	}
	problems := map[string]string{}
	for _, out := range found.Outputs {
		names := slices.DeleteFunc(slices.Clone(out.Exports), func(n string) bool {
			return n == "default" || strings.HasSuffix(n, "Schema") || strings.HasSuffix(n, "Approval")
		})
		for _, name := range c.Tools {
			if !slices.Contains(out.Exports, name) {
				problems[name] = fmt.Sprintf("%s exports no %s; it exports %s", label, name, orNothing(names))
			}
		}
	}
	return problems
}

// missingPython says which names no file of a module has. A name that is there may be anything.
func missingPython(c *Config, label string, files content) map[string]string {
	problems := map[string]string{}
	for _, name := range c.Tools {
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
		there := false
		for _, data := range files {
			there = there || word.Match(data) || strings.Contains(string(data), "globals()") || strings.Contains(string(data), "setattr(") ||
				strings.Contains(string(data), "__getattr__") || strings.Contains(string(data), "import *")
		}
		if !there {
			problems[name] = fmt.Sprintf("%s has no %s; it has %s", label, name, orNothing(pythonFunctions(files[filepath.Base(c.Module)])))
		}
	}
	return problems
}

var pythonFunction = regexp.MustCompile(`(?m)^(?:async[ \t]+)?def[ \t]+([A-Za-z][A-Za-z0-9_]*)`)

func pythonFunctions(source []byte) (names []string) {
	for _, m := range pythonFunction.FindAllSubmatch(source, -1) {
		if name := string(m[1]); !strings.HasSuffix(name, "_approval") {
			names = append(names, name)
		}
	}
	return names
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
