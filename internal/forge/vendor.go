package forge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs"
)

// A tool in Go has the modules that it imports in vendor, as 'go mod vendor' puts them there. They are part of the tool: hashed, copied and
// approved with it. Nothing is fetched.
const (
	vendorDir   = "vendor/"
	vendorList  = vendorDir + "modules.txt"
	maxVendored = 5_000
)

var (
	requires = regexp.MustCompile(`(?m)^\s*require\b`)
	listed   = regexp.MustCompile(`(?m)^# (\S+) (.+)$`)
)

// vendored refuses a tool that requires modules which are not there.
func vendored(name string, c *content) error {
	if !requires.Match(c.data["go.mod"]) || c.data[vendorList] != nil {
		return nil
	}
	return tongs.Errorf(tongs.CodeConfigError, "%s requires modules, and builds have no network; put them beside it with 'go mod tidy && go mod vendor' in %s, then build again",
		spelled(name, "go.mod"), spelled(name))
}

// pkg is a module in vendor.
type pkg struct {
	version string
	paths   []string
	hash    string
}

// packages are the modules in vendor, by their paths. Files of none that is listed are in one without a name.
func (c *content) packages() map[string]*pkg {
	found := map[string]*pkg{}
	versions := map[string]string{}
	for _, m := range listed.FindAllSubmatch(c.data[vendorList], -1) {
		versions[string(m[1])] = string(m[2])
	}
	for _, f := range c.files {
		rest, ok := strings.CutPrefix(f.Path, vendorDir)
		if !ok || f.Path == vendorList {
			continue
		}
		module := ""
		for path := range versions {
			if strings.HasPrefix(rest, path+"/") && len(path) > len(module) {
				module = path
			}
		}
		if found[module] == nil {
			found[module] = &pkg{version: versions[module]}
		}
		found[module].paths = append(found[module].paths, f.Path)
	}
	for _, p := range found {
		h := sha256.New()
		for _, path := range p.paths {
			fmt.Fprintf(h, "%q %x\n", path, sha256.Sum256(c.data[path]))
		}
		p.hash = hex.EncodeToString(h.Sum(nil))
	}
	return found
}

// showPackages writes the modules in vendor out: each in a line, and how one differs that changed without another version.
func (c *content) showPackages(b *strings.Builder, before *content) {
	was := map[string]*pkg{}
	if before != nil {
		was = before.packages()
	}
	now := c.packages()
	for _, module := range slices.Sorted(maps.Keys(now)) {
		p, old := now[module], was[module]
		label := strings.TrimSpace(module + " " + p.version)
		if label == "" {
			label = "files of no module"
		}
		switch {
		case old != nil && old.hash == p.hash && old.version == p.version:
			continue
		case old != nil && old.version == p.version:
			fmt.Fprintf(b, "vendor: %s changed and has the same version\n", label)
			for _, path := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.paths, p.paths)))) {
				if !bytes.Equal(before.data[path], c.data[path]) {
					b.WriteString(udiff.Unified("approved/"+path, "now/"+path, string(before.data[path]), string(c.data[path])))
				}
			}
		default:
			fmt.Fprintf(b, "vendor: %s: %d files, sha256 %s\n", label, len(p.paths), p.hash)
		}
	}
	for _, module := range slices.Sorted(maps.Keys(was)) {
		if now[module] == nil {
			fmt.Fprintf(b, "vendor: %s: removed\n", module)
		}
	}
}
