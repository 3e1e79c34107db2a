package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/system"
)

// Asked is a question that a person would have seen.
type Asked struct {
	Call    int
	Tool    string
	Why     string
	Changes int // of files, where the program ran before it was asked about
}

// Report is what a session came to under one configuration.
type Report struct {
	Session *Session
	Asked   []Asked
	// Refused are the calls that were refused without a question, Failed those that failed and should not have.
	Refused, Failed map[int]string
	// Before and After are the files of the workspace before the session and after it.
	Before, After map[string]string
}

// person answers yes to everything, and counts. A host is approved for the session, since that is what is offered for it.
type person struct {
	mu    sync.Mutex
	call  int
	asked []Asked
}

func (p *person) Ask(_ context.Context, q approval.Question) (*approval.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, Asked{Call: p.call, Tool: q.Tool, Why: q.Why, Changes: len(q.Changes)})
	a := &approval.Answer{Approved: true, Channel: "bench"}
	host := slices.ContainsFunc(q.Effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectNetwork })
	if host && slices.Contains(q.Scopes, approval.Session) {
		a.Scope, a.Remember = approval.Session, q.Remember
	}
	return a, nil
}

// bench runs sessions below a directory.
type bench struct {
	dir     string
	esbuild func() (string, error)
}

// run plays a session under a user's configuration. With undo it then takes everything back, and brings it again.
func (b *bench) run(ctx context.Context, s *Session, config string, undo bool) (rep *Report, err error) {
	dir, err := os.MkdirTemp(b.dir, s.Name+"-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opt := system.Options{
		Workspace: filepath.Join(dir, s.Name), Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state"),
		CustomTools: filepath.Join(dir, "tools"), Attended: true,
	}
	remotes := filepath.Join(dir, "remotes")
	for _, d := range []string{opt.Workspace, opt.Config, remotes} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	w, err := newWorld(remotes)
	if err != nil {
		return nil, err
	}
	defer w.server.Close()
	if err := os.WriteFile(filepath.Join(opt.Config, "config.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	if err := w.fixture(s, opt.Workspace, b.esbuild); err != nil {
		return nil, err
	}
	who := &person{}
	opt.Channels = []approval.Channel{who}
	sys, err := system.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sys.Close()) }()
	rep = &Report{Session: s, Refused: map[int]string{}, Failed: map[int]string{}}
	if rep.Before, err = tree(opt.Workspace); err != nil {
		return nil, err
	}
	if err := rep.play(ctx, sys, who, w.server.URL); err != nil {
		return nil, err
	}
	rep.Asked = slices.Clone(who.asked)
	if rep.After, err = tree(opt.Workspace); err != nil || !undo {
		return rep, err
	}
	return rep, rep.takeBack(ctx, sys, opt.Workspace)
}

// play makes the calls of the session.
func (r *Report) play(ctx context.Context, sys *system.System, who *person, registry string) error {
	for i := range r.Session.Calls {
		c := &r.Session.Calls[i]
		args, err := c.JSON(registry)
		if err != nil {
			return err
		}
		who.mu.Lock()
		who.call = i
		who.mu.Unlock()
		res := sys.Call(ctx, &tongs.Call{Tool: c.Tool, Args: args, Session: "s1", Agents: []string{"bench"}})
		code, _ := res.Metadata["exitCode"].(int)
		switch {
		case res.Error == nil && c.Fails == (code != 0):
		case res.Error == nil:
			r.Failed[i] = fmt.Sprintf("it ended with the code %d\n%s", code, res.Content)
		case res.Error.Code == tongs.CodeApprovalRequired || res.Error.Code == tongs.CodeBlocked || res.Error.Code == tongs.CodeDenied:
			r.Refused[i] = res.Error.Error()
		case !c.Fails:
			r.Failed[i] = res.Error.Error() + "\n" + res.Content
		}
	}
	return nil
}

// takeBack undoes the session and redoes it, and compares the files to the byte.
func (r *Report) takeBack(ctx context.Context, sys *system.System, ws string) error {
	for _, step := range []struct {
		tool, args string
		want       map[string]string
	}{{"undo", `{"session":"s1"}`, r.Before}, {"redo", `{}`, r.After}} {
		res := sys.Call(ctx, &tongs.Call{Tool: step.tool, Args: json.RawMessage(step.args), Session: "person"})
		if res.Error != nil {
			return fmt.Errorf("%s of the session: %w", step.tool, res.Error)
		}
		got, err := tree(ws)
		if err != nil {
			return err
		}
		if diff := differences(step.want, got); len(diff) > 0 {
			return fmt.Errorf("%s of the session left %d paths different: %s", step.tool, len(diff), strings.Join(diff[:min(len(diff), 20)], ", "))
		}
	}
	return nil
}

// records are the names by which git keeps what is compared by its meaning. Undo leaves objects, and refs may be kept elsewhere.
var records = regexp.MustCompile(`^\.git/((objects|refs|logs)(/.*)?|packed-refs|index|FETCH_HEAD|ORIG_HEAD|COMMIT_EDITMSG|AUTO_MERGE)$`)

// recorded is what git's records come to, without those of the other side: a person approved fetching and pushing, and they
// cannot be taken back.
func recorded(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, ".git", "HEAD")); err != nil {
		return "", nil
	}
	var all string
	for _, args := range []string{"for-each-ref --format=%(refname)=%(objectname) refs/heads refs/tags refs/stash", "ls-files -s", "stash list", "status --porcelain"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_OPTIONAL_LOCKS=0")
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args, err)
		}
		all += string(out)
	}
	return all, nil
}

// tree is every path of a directory with its type, permissions and content, and what git recorded.
func tree(dir string) (map[string]string, error) {
	all := map[string]string{}
	git, err := recorded(dir)
	if err != nil {
		return nil, err
	}
	all["git's records"] = git
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		state := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			state += fmt.Sprintf(" %x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			state += " " + to
		}
		name, err := filepath.Rel(dir, path)
		if !records.MatchString(filepath.ToSlash(name)) {
			all[name] = state
		}
		return err
	})
	return all, err
}

// differences are the paths that are not the same in both. Objects that git added may be left: nothing names them, and git
// removes them in time.
func differences(want, got map[string]string) (names []string) {
	for name, state := range want {
		if got[name] != state {
			names = append(names, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && !strings.HasPrefix(filepath.ToSlash(name), ".git/objects/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
