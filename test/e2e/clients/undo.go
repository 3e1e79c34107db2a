//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/creack/pty"

	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// project is the work that is destroyed: two commits, something staged, something changed, something ignored.
const project = `git init -q -b main . && git config user.email a@b && git config user.name n && mkdir -p src/deep && echo one > src/a.go &&
echo two > src/deep/b.go && printf '.env\nnode_modules\n' > .gitignore && git add . && git commit -qm first && echo more >> src/a.go &&
git commit -qam second && echo staged > staged.txt && git add staged.txt && echo dirty >> src/a.go && echo mine > untracked.txt &&
echo SECRET=1 > .env && ln -s src/a.go link && mkdir node_modules && echo x > node_modules/x`

// shellCalls are the commands that destroy it.
func shellCalls(tools []string, key string) (list []model.Native) {
	for _, command := range []string{"rm -r src && git reset --hard HEAD~1", "git clean -fdx; find src .gitignore -delete; echo agent > src"} {
		args := map[string]string{key: command}
		if key == "command" {
			args["description"] = "tidy up"
		}
		data, _ := json.Marshal(args)
		list = append(list, model.Native{Tools: tools, Args: string(data)})
	}
	return list
}

// undone installs the hooks, has the client destroy the project, takes it back, and removes the hooks.
func (s *stand) undone(ctx context.Context) error {
	if s.client.native == nil {
		return errors.New("'tongs guard' does not know this client")
	}
	s.model.Script = &model.Script{Native: s.client.native(s)}
	if err := s.client.configure(s); err != nil {
		return err
	}
	if out, err := s.command(ctx, "sh", "-ec", project).CombinedOutput(); err != nil {
		return fmt.Errorf("make the project: %w: %s", err, out)
	}
	settings := filepath.Join(s.home, s.client.settings)
	before, err := os.ReadFile(settings)
	if err != nil {
		return err
	}
	was, err := s.tree(ctx)
	if err != nil {
		return err
	}
	if err := s.tongs(ctx, "guard", "install", s.client.setup, "--undo-only", "--yes"); err != nil {
		return err
	}
	ctxRun, cancel := context.WithTimeout(ctx, s.opt.limit)
	defer cancel()
	argv := s.client.free(s)
	cmd := s.command(ctxRun, filepath.Join(s.opt.npm, "node_modules", ".bin", argv[0]), argv[1:]...)
	cmd.Env = append(cmd.Env, s.client.env(s)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	_ = os.WriteFile(filepath.Join(s.logs, "client.txt"), out, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w: %.2000s", argv[0], err, out)
	}
	now, err := s.tree(ctx)
	if err != nil {
		return err
	}
	if data, _ := os.ReadFile(filepath.Join(s.workspace, "src")); string(data) != "agent\n" || maps.Equal(was, now) {
		return fmt.Errorf("the client did not do what it was told: %.2000s", out)
	}
	if err := s.undoAtTerminal(ctx); err != nil {
		return err
	}
	if now, err = s.tree(ctx); err != nil {
		return err
	}
	if err := different(was, now); err != nil {
		return err
	}
	if err := s.tongs(ctx, "guard", "remove", s.client.setup); err != nil {
		return err
	}
	if left, err := s.leftOver(); err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("%v name the hook still", left))
	}
	after, err := os.ReadFile(settings)
	if err != nil || !bytes.Equal(before, after) && !s.client.rewrites {
		return errors.Join(err, fmt.Errorf("%s is not what it was before", settings))
	}
	fmt.Printf("%s: everything that it destroyed was taken back, and the hooks are gone\n", s.client.name)
	return nil
}

// leftOver are the files of settings that name the hook.
func (s *stand) leftOver() (list []string, err error) {
	for _, dir := range []string{".claude", ".codex", ".gemini", ".config"} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(s.home, dir), func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() || !slices.Contains([]string{".json", ".toml", ".js"}, filepath.Ext(name)) {
				return err
			}
			data, err := os.ReadFile(name)
			if bytes.Contains(data, []byte("guard hook")) || bytes.Contains(data, []byte(`"guard", "hook"`)) {
				list = append(list, name)
			}
			return err
		}))
	}
	return list, err
}

// tongs runs a command of tongs.
func (s *stand) tongs(ctx context.Context, args ...string) error {
	out, err := s.command(ctx, s.opt.tongs, args...).CombinedOutput()
	_ = os.WriteFile(filepath.Join(s.logs, strings.Join(args, "-")+".txt"), out, 0o600)
	if err != nil {
		return fmt.Errorf("tongs %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// undoAtTerminal runs 'tongs undo --prompt' at a terminal and says yes.
func (s *stand) undoAtTerminal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := s.command(ctx, s.opt.tongs, "undo", "--prompt")
	cmd.Env = append(cmd.Env, "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return err
	}
	defer tty.Close()
	var screen []byte
	asked, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	wait := asked
	go func() { // what was typed before the question could be read does not count
		<-wait
		for {
			select {
			case <-over:
				return
			case <-time.After(500 * time.Millisecond):
				_, _ = io.WriteString(tty, "y")
			}
		}
	}()
	for buf := make([]byte, 4096); ; {
		n, err := tty.Read(buf)
		screen = append(screen, buf[:n]...)
		if asked != nil && (err != nil || bytes.Contains(screen, []byte("details"))) {
			close(asked)
			asked = nil
		}
		if err != nil {
			break // the terminal ends with the command
		}
	}
	_ = os.WriteFile(filepath.Join(s.logs, "undo.txt"), screen, 0o600)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("tongs undo --prompt: %w; it showed %.2000s", err, screen)
	}
	return nil
}

// tree is the project, byte for byte, and what git says of it. What tools make again is not kept.
func (s *stand) tree(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(s.workspace, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.workspace, name)
		if rel == ".git" || rel == "node_modules" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		all[rel] = text
		return nil
	})
	for _, args := range [][]string{{"status", "--porcelain", "-b"}, {"rev-parse", "HEAD", "main"}, {"ls-files", "-s"}} {
		out, _ := s.command(ctx, "git", args...).CombinedOutput()
		all["git "+args[0]] = string(out)
	}
	return all, err
}

func different(was, now map[string]string) (err error) {
	names := slices.Sorted(maps.Keys(was))
	for name := range now {
		if _, ok := was[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if was[name] != now[name] {
			err = errors.Join(err, fmt.Errorf("%s was %q and is %q", name, was[name], now[name]))
		}
	}
	return err
}
