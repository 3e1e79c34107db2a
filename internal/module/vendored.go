package module

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// vendorTime is how long it may take to collect the packages that a Go module imports.
const vendorTime = 2 * time.Minute

// dependencies takes up the packages of other modules: those of the vendor directory, or of the cache of the go command.
// Nothing is fetched, and nothing of them is run.
func (g *goModule) dependencies() error {
	if len(g.outside) == 0 {
		return nil
	}
	if g.path == ownModule {
		return fmt.Errorf("it imports %s, and has no go.mod; make one beside it: go mod init tools && go mod tidy", g.outside[0])
	}
	if dir := filepath.Join(g.root, "vendor"); isFile(filepath.Join(dir, "modules.txt")) {
		return g.vendor(dir, true)
	}
	tmp, err := os.MkdirTemp("", "tongs-vendor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	program, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("go is not installed on this machine; %s", runtimes[golang].install)
	}
	ctx, cancel := context.WithTimeout(context.Background(), vendorTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "mod", "vendor", "-o", filepath.Join(tmp, "vendor"))
	cmd.Dir = g.root
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOVCS=*:off", "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("what it imports is not all on this machine: run 'go mod tidy' or 'go mod vendor' in %s\n%s", g.root, strings.TrimSpace(string(out)))
	}
	return g.vendor(filepath.Join(tmp, "vendor"), false)
}

// vendor takes up a vendor directory. Files that are only there for now are no inputs: go.sum binds what is in them.
func (g *goModule) vendor(dir string, inputs bool) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file", path)
		}
		rel, err := filepath.Rel(filepath.Dir(dir), path)
		if err != nil {
			return err
		}
		read := readFile
		if inputs {
			read = g.read
		}
		g.content[filepath.ToSlash(rel)], err = read(path)
		return err
	})
}
