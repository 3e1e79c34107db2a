package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox"
)

// A program runs in a workspace and sees nothing of the home around it. A real program calls sandbox.Main first thing
// in main; here TestMain does.
func Example() {
	home, err := os.MkdirTemp("", "home-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	workspace := filepath.Join(home, "project")
	_ = os.Mkdir(workspace, 0o755)
	_ = os.WriteFile(filepath.Join(home, "secret"), []byte("hush"), 0o600)

	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	policy := sandbox.Default(workspace, sandbox.PresetOptions{})
	policy.Writable = append(policy.Writable, sandbox.Decided(workspace))
	var out bytes.Buffer
	res, err := runner.Run(context.Background(), &sandbox.Cmd{
		Argv:   []string{"sh", "-c", "echo hello > made; cat made; cat ../secret 2>/dev/null || echo nothing there"},
		Policy: policy,
		Stdout: &out, Stderr: &out,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(out.String())
	fmt.Println("exit", res.ExitCode, "tier", res.Report.Tier, "full", res.Report.Full)
	// Output:
	// hello
	// nothing there
	// exit 0 tier A full true
}

// What is protected cannot be changed, and what is planted where nothing was is reported.
func ExamplePolicy_protectedNames() {
	workspace, err := os.MkdirTemp("", "project-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(workspace)
	_ = os.WriteFile(filepath.Join(workspace, ".envrc"), []byte("\n"), 0o644)
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	policy := sandbox.Default(workspace, sandbox.PresetOptions{Protect: []string{".envrc", ".vscode"}})
	policy.Writable = append(policy.Writable, sandbox.Decided(workspace))
	res, err := runner.Run(context.Background(), &sandbox.Cmd{
		Argv: []string{"sh", "-c", "echo evil > .envrc; mkdir .vscode"}, Policy: policy, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	content, _ := os.ReadFile(filepath.Join(workspace, ".envrc"))
	fmt.Printf("%q\n", content)
	fmt.Println("planted:", filepath.Base(res.Report.Planted[0]))
	// Output:
	// "\n"
	// planted: .vscode
}

// A background job is started, talked to and ended.
func ExampleRunner_Start() {
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	workspace, _ := os.MkdirTemp("", "project-")
	defer os.RemoveAll(workspace)
	out, w := io.Pipe()
	policy := sandbox.Default(workspace, sandbox.PresetOptions{})
	policy.Writable = append(policy.Writable, sandbox.Decided(workspace))
	policy.Limits.Wall = time.Hour
	job, err := runner.Start(context.Background(), &sandbox.Cmd{Argv: []string{"cat"}, Policy: policy, StdinPipe: true, Stdout: w})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.WriteString(job.Stdin(), "ping\n")
	answer := make([]byte, 5)
	_, _ = io.ReadFull(out, answer)
	fmt.Print(string(answer))
	job.Kill()
	res, _ := job.Wait()
	fmt.Println(res.Signal)
	// Output:
	// ping
	// killed
}

// A policy may require what only some machines have. Where it cannot be had, nothing runs and the error names the fix.
func ExamplePolicy_require() {
	runner, err := sandbox.New(sandbox.Options{Tiers: []string{sandbox.TierB}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	_, err = runner.Run(context.Background(), &sandbox.Cmd{
		Argv: []string{"true"}, Policy: sandbox.Policy{Readable: []string{"/usr"}, Require: []sandbox.Property{sandbox.PropertyHide}},
	})
	fmt.Println(tongs.CodeOf(err), strings.Contains(err.Error(), "does not enforce hide"))
	// Output: SANDBOX_UNAVAILABLE true
}
