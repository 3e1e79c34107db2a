// Command mcp measures MCP servers side by side, over stdio, with the same client: tongs, the filesystem server of npm,
// and a bare echo server of the SDK that both tongs and this client are made with.
//
//	go run ./bench/mcp -tongs bin/tongs -filesystem node_modules/.bin/mcp-server-filesystem
//
// For each server: the time from its start to the answer of the first tools/list, the time of a call that reads a small
// file (the echo server returns its argument), how many of them it answers in a second, 16 at a time, and its memory
// afterwards.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type config struct {
	tongs, filesystem string
	starts, calls     int
	duration          time.Duration
	version           string
}

func main() {
	var c config
	flag.StringVar(&c.tongs, "tongs", "bin/tongs", "the tongs command")
	flag.StringVar(&c.filesystem, "filesystem", "", "the command of the filesystem server; empty leaves it out")
	flag.IntVar(&c.starts, "starts", 10, "how often each server is started")
	flag.IntVar(&c.calls, "calls", 2000, "how many calls are made one after the other")
	flag.DurationVar(&c.duration, "duration", 3*time.Second, "how long calls are made 16 at a time")
	flag.StringVar(&c.version, "version", "2025-11-25", "the revision to speak")
	echo := flag.Bool("echo", false, "be the echo server")
	flag.Parse()
	ctx := context.Background()
	var err error
	if *echo {
		err = serveEcho(ctx)
	} else {
		err = c.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/mcp:", err)
		os.Exit(1)
	}
}

func serveEcho(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Echoes."},
		func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
		})
	return server.Run(ctx, &mcp.StdioTransport{})
}

// subject is a server to measure.
type subject struct {
	name    string
	command []string
	env     []string
	tool    string
	args    map[string]any
}

func (c config) subjects(dir string) ([]subject, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(ws, "a.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("a line of a small file\n", 40)), 0o644); err != nil {
		return nil, err
	}
	tongs, err := exec.LookPath(c.tongs)
	if err != nil {
		return nil, err
	}
	list := []subject{
		{"echo (go-sdk)", []string{self, "-echo"}, nil, "echo", map[string]any{"text": strings.Repeat("a line of a small file\n", 40)}},
		{
			"tongs",
			[]string{tongs, "mcp", "--workspace", ws},
			[]string{"TONGS_STATE_DIR=" + filepath.Join(dir, "state"), "TONGS_CONFIG_DIR=" + filepath.Join(dir, "config")},
			"read_file",
			map[string]any{"path": "a.txt"},
		},
	}
	if c.filesystem != "" {
		list = append(list, subject{"server-filesystem", append(strings.Fields(c.filesystem), ws), nil, "read_text_file", map[string]any{"path": file}})
	}
	return list, nil
}

func (c config) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bench-mcp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	list, err := c.subjects(dir)
	if err != nil {
		return err
	}
	fmt.Printf("%s/%s, %d processors, revision %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), c.version)
	fmt.Printf("%-20s %14s %12s %12s %12s %10s\n", "server", "first list", "call p50", "call p99", "calls/s", "memory")
	for _, s := range list {
		r, err := c.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("%-20s %14s %12s %12s %12.0f %9.1fM\n", s.name, r.first.Round(100*time.Microsecond), r.p50.Round(time.Microsecond),
			r.p99.Round(time.Microsecond), r.rate, float64(r.memory)/1024)
	}
	return nil
}

type result struct {
	first, p50, p99 time.Duration
	rate            float64
	memory          int // KiB
}

func (c config) measure(ctx context.Context, s subject) (r result, err error) {
	var starts []time.Duration
	for range c.starts {
		took, session, cmd, err := c.start(ctx, s)
		if err != nil {
			return r, err
		}
		_ = cmd
		starts = append(starts, took)
		if err := session.Close(); err != nil {
			return r, err
		}
	}
	r.first = at(starts, 50)
	_, session, cmd, err := c.start(ctx, s)
	if err != nil {
		return r, err
	}
	defer session.Close()
	var took []time.Duration
	for i := range c.calls + c.calls/10 {
		began := time.Now()
		if err := s.call(ctx, session); err != nil {
			return r, err
		}
		if i >= c.calls/10 { // the first tenth warms up
			took = append(took, time.Since(began))
		}
	}
	r.p50, r.p99 = at(took, 50), at(took, 99)
	if r.rate, err = c.together(ctx, s, session); err != nil {
		return r, err
	}
	r.memory = resident(cmd.Process.Pid)
	return r, nil
}

// start starts the server and returns when its tools are listed.
func (c config) start(ctx context.Context, s subject) (time.Duration, *mcp.ClientSession, *exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Env = append(os.Environ(), s.env...)
	began := time.Now()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}).
		Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: c.version})
	if err != nil {
		return 0, nil, nil, err
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		return 0, nil, nil, err
	}
	return time.Since(began), session, cmd, nil
}

func (s subject) call(ctx context.Context, session *mcp.ClientSession) error {
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: s.tool, Arguments: s.args})
	if err == nil && res.IsError {
		err = fmt.Errorf("%s failed: %v", s.tool, res.Content[0])
	}
	return err
}

// together calls 16 at a time and returns how many calls a second were answered.
func (c config) together(ctx context.Context, s subject, session *mcp.ClientSession) (float64, error) {
	var n atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, 16)
	began := time.Now()
	for range 16 {
		all.Go(func() {
			for time.Since(began) < c.duration {
				if err := s.call(ctx, session); err != nil {
					errs <- err
					return
				}
				n.Add(1)
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(n.Load()) / time.Since(began).Seconds(), nil
	}
}

func at(list []time.Duration, percent int) time.Duration {
	slices.Sort(list)
	return list[(len(list)-1)*percent/100]
}

// resident is the memory of a process in KiB, where the system tells it.
func resident(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}
