package module

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

// loaders are how files are read, by their ends. Others cannot be imported.
var loaders = map[string]api.Loader{
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".tsx": api.LoaderTSX, ".js": api.LoaderJS, ".mjs": api.LoaderJS,
	".cjs": api.LoaderJS, ".jsx": api.LoaderJSX, ".json": api.LoaderJSON, ".txt": api.LoaderText, ".md": api.LoaderText,
}

// guard is put before a bundle: what it did not bundle, other than what comes with Node, cannot be imported.
const guard = `import { createRequire as tongs_require, isBuiltin as tongs_builtin } from "node:module";
const require = ((load) => (name) => {
  if (!tongs_builtin(name)) throw new Error(name + " was not bundled with the module, and nothing else is imported while it runs");
  return load(name);
})(tongs_require(import.meta.url));`

// bundleJavaScript bundles a module of TypeScript or JavaScript, or a package, with all that it imports.
func bundleJavaScript(c *Config, label string) (*bundled, error) {
	dir, from := c.Dir, c.Package
	if c.Module != "" {
		dir, from = filepath.Dir(c.Module), "./"+filepath.Base(c.Module)
		if _, err := os.Stat(c.Module); err != nil {
			return nil, err
		}
	} else if findPackage(dir, c.Package) == "" {
		return nil, fmt.Errorf("the package %s is not installed: run 'npm install %s' in %s", c.Package, c.Package, dir)
	}
	name, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	entry := fmt.Sprintf("export * as tools from %s;\n", name)
	version, core := findZod(dir)
	if core {
		entry += "export { toJSONSchema } from \"zod/v4/core\";\n"
	}
	r := &reader{files: map[string][]byte{}}
	res := api.Build(api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: entry, ResolveDir: dir, Sourcefile: "tongs", Loader: api.LoaderJS},
		Bundle: true, Platform: api.PlatformNode, Format: api.FormatESModule, Target: api.ES2022, TsconfigRaw: "{}", Packages: api.PackagesBundle,
		Banner: map[string]string{"js": guard}, Supported: map[string]bool{"dynamic-import": false}, LegalComments: api.LegalCommentsNone,
		Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent, LogLimit: 20, AbsWorkingDir: dir, Plugins: []api.Plugin{r.plugin()},
	})
	if len(res.Errors) > 0 {
		return nil, bundlingError(res.Errors, dir, label)
	}
	if len(res.OutputFiles) != 1 {
		return nil, fmt.Errorf("it was bundled to %d files instead of one", len(res.OutputFiles))
	}
	if version != "" && !core && r.usesZod() {
		return nil, fmt.Errorf("it imports zod %s, and zod 4 is needed: run 'npm install zod@4' in %s", version, dir)
	}
	b := &bundled{content: content{bundleName: res.OutputFiles[0].Contents}, inputs: r.list(), settings: map[string]any{}}
	if c.Import != "" {
		b.settings["import"] = c.Import
	}
	packages := r.sort(dir, b.content)
	if packages != "" {
		b.content["packages.txt"] = []byte(packages)
	}
	if c.Module != "" {
		b.settings["descriptions"] = describedIn(string(r.files[real(c.Module)]))
		b.problems = missingJavaScript(c, label, r.files)
	}
	return b, nil
}

func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// reader reads the files of a bundle, so that what a person is shown is what was bundled.
type reader struct {
	recorder
	mu    sync.Mutex
	files map[string][]byte
}

func (r *reader) plugin() api.Plugin {
	return api.Plugin{Name: "read", Setup: func(build api.PluginBuild) {
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			loader, ok := loaders[strings.ToLower(filepath.Ext(args.Path))]
			if !ok {
				return api.OnLoadResult{}, fmt.Errorf("%s: a file of this kind cannot be imported", filepath.Base(args.Path))
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			data, err := r.read(args.Path)
			if err != nil {
				return api.OnLoadResult{}, err
			}
			r.files[args.Path] = data
			text := string(data)
			return api.OnLoadResult{Contents: &text, Loader: loader, ResolveDir: filepath.Dir(args.Path)}, nil
		})
	}}
}

const modulesDir = "/node_modules/"

func (r *reader) usesZod() bool {
	for path := range r.files {
		if strings.Contains(filepath.ToSlash(path), modulesDir+"zod/") {
			return true
		}
	}
	return false
}

// sort puts the module's own sources into the content, and lists the packages among the rest.
func (r *reader) sort(dir string, c content) (packages string) {
	type pkg struct {
		files []string
		root  string
	}
	found := map[string]*pkg{}
	dir = real(dir)
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		slashed := filepath.ToSlash(path)
		at := strings.LastIndex(slashed, modulesDir)
		if at < 0 {
			c["sources/"+relative(dir, path)] = r.files[path]
			continue
		}
		words := strings.SplitN(slashed[at+len(modulesDir):], "/", 3)
		name := words[0]
		if strings.HasPrefix(name, "@") && len(words) > 1 {
			name += "/" + words[1]
		}
		root := slashed[:at+len(modulesDir)] + name
		if found[root] == nil {
			found[root] = &pkg{root: root}
		}
		found[root].files = append(found[root].files, path)
	}
	var lines []string
	for root, p := range found {
		h := sha256.New()
		for _, path := range p.files {
			fmt.Fprintf(h, "%q %x\n", relative(root, path), sha256.Sum256(r.files[path]))
		}
		name := root[strings.LastIndex(root, modulesDir)+len(modulesDir):]
		lines = append(lines, fmt.Sprintf("%s %s: %d files, sha256 %s\n", name, packageVersion(root), len(p.files), hex.EncodeToString(h.Sum(nil))))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// findPackage returns the directory of a package as Node finds it, empty where it is not installed.
func findPackage(dir, name string) string {
	for {
		if at := filepath.Join(dir, "node_modules", filepath.FromSlash(name)); isFile(filepath.Join(at, "package.json")) {
			return at
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// findZod returns the version of zod that is installed, and whether it has what zod 4 has.
func findZod(dir string) (version string, core bool) {
	at := findPackage(dir, "zod")
	if at == "" {
		return "", false
	}
	version = packageVersion(at)
	major, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(major)
	return version, n >= 4 || isFile(filepath.Join(at, "v4", "core", "package.json"))
}

func packageVersion(dir string) string {
	var p struct {
		Version string `json:"version"`
	}
	data, err := readFile(filepath.Join(dir, "package.json"))
	if err != nil || json.Unmarshal(data, &p) != nil || p.Version == "" {
		return "of no version"
	}
	return p.Version
}

var unresolved = regexp.MustCompile(`^Could not resolve "([^"./][^"]*)"`)

// bundlingError says why a module could not be bundled.
func bundlingError(list []api.Message, dir, label string) error {
	var lines []string
	for _, m := range list {
		if found := unresolved.FindStringSubmatch(m.Text); found != nil {
			name := found[1]
			words := strings.SplitN(name, "/", 3)
			if name = words[0]; strings.HasPrefix(name, "@") && len(words) > 1 {
				name += "/" + words[1]
			}
			return fmt.Errorf("it imports %q, which is not installed: run 'npm install %s' in %s", found[1], name, dir)
		}
		line := m.Text
		if m.Location != nil {
			line = fmt.Sprintf("%s:%d:%d: %s", m.Location.File, m.Location.Line, m.Location.Column+1, m.Text)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return errors.New("it cannot be bundled")
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}

var documented = regexp.MustCompile(`(?s)/\*\*((?:[^*]|\*[^/])*)\*/\s*export\s+(?:async\s+)?(?:function\s*\*?|class|const|let|var)\s+([A-Za-z_$][\w$]*)`)

// describedIn finds the doc comments of exported functions, by name.
func describedIn(source string) map[string]string {
	found := map[string]string{}
	for _, m := range documented.FindAllStringSubmatch(source, -1) {
		var lines []string
		for line := range strings.SplitSeq(m[1], "\n") {
			line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*"))
			if strings.HasPrefix(line, "@") {
				break
			}
			lines = append(lines, line)
		}
		if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
			found[m[2]] = text
		}
	}
	return found
}
