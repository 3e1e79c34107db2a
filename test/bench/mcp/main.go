// Command mcp measures MCP servers side by side, over stdio, with the same client: tongs, the filesystem server of npm,
// and a bare echo server of the SDK that both tongs and this client are made with.
//
//	go run ./test/bench/mcp -tongs bin/tongs -filesystem node_modules/.bin/mcp-server-filesystem
//
// For each server: the time and the processor time from its start to the answer of the first tools/list, the time of a call
// that reads a small file (the echo server returns its argument, of the same length), how many of them it answers in a
// second, 16 at a time, the processor time that 10,000 of those take, its memory afterwards, and the bytes of its
// definitions. All servers get the same requests; tongs writes three rows to its log for each call, durably. On a busy
// machine the processor time says more than the others.
//
// Last it kills a client of tongs in the middle of a call, and tells when the processes of that call are gone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type config struct {
	tongs, filesystem string
	starts, calls     int
	kills             int
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
	flag.IntVar(&c.kills, "kills", 5, "how often a client is killed during a call")
	echo := flag.Bool("echo", false, "be the echo server")
	hanging := flag.String("hang", "", "be a client that is killed")
	flag.Parse()
	ctx := context.Background()
	var err error
	switch {
	case *echo:
		err = serveEcho(ctx)
	case *hanging != "":
		err = hang(ctx, *hanging)
	default:
		err = c.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/bench/mcp:", err)
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
	fmt.Printf("%s/%s, %d processors%s, revision %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load(), c.version)
	fmt.Printf("%-20s %12s %12s %10s %10s %10s %12s %10s %12s\n",
		"server", "first list", "start CPU", "call p50", "call p99", "calls/s", "CPU/10000", "memory", "definitions")
	for _, s := range list {
		r, err := c.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("%-20s %12s %12s %10s %10s %10.0f %12s %9.1fM %12d\n", s.name,
			r.first.Round(100*time.Microsecond), r.starting.Round(100*time.Microsecond), r.p50.Round(time.Microsecond),
			r.p99.Round(time.Microsecond), r.rate, r.busy.Round(10*time.Millisecond), float64(r.memory)/1024, r.defs)
	}
	if runtime.GOOS != "linux" { // elsewhere nobody tells what processes there are
		return nil
	}
	return c.killing(ctx, list[1])
}

type result struct {
	first, p50, p99 time.Duration
	// starting is the processor time of a start and a list, busy that of 10,000 calls.
	starting, busy time.Duration
	rate           float64
	memory, defs   int // KiB and bytes
}

func (c config) measure(ctx context.Context, s subject) (r result, err error) {
	var starts []time.Duration
	for range c.starts {
		began := time.Now()
		server, err := start(ctx, s)
		if err != nil {
			return r, err
		}
		if r.defs, err = server.hello(c.version); err != nil {
			return r, err
		}
		starts = append(starts, time.Since(began))
		_ = server.close()
		state := server.cmd.ProcessState
		r.starting += (state.UserTime() + state.SystemTime()) / time.Duration(c.starts)
	}
	r.first = at(starts, 50)
	server, err := start(ctx, s)
	if err != nil {
		return r, err
	}
	defer server.close()
	if _, err := server.hello(c.version); err != nil {
		return r, err
	}
	if r.p50, r.p99, err = c.alone(server); err != nil {
		return r, err
	}
	before, n := spent(server.cmd.Process.Pid), server.next
	if r.rate, err = c.together(server); err != nil {
		return r, err
	}
	if n = server.next - n; n > 0 {
		r.busy = (spent(server.cmd.Process.Pid) - before) * 10000 / time.Duration(n)
	}
	r.memory = resident(server.cmd.Process.Pid)
	return r, nil
}

// alone makes one call after the other and returns the median and the slowest percent of their times.
func (c config) alone(server *client) (p50, p99 time.Duration, err error) {
	took := make([]time.Duration, 0, c.calls)
	for i := range c.calls + c.calls/10 {
		began := time.Now()
		if err := server.send(); err != nil {
			return 0, 0, err
		}
		if err := server.receive(); err != nil {
			return 0, 0, err
		}
		if i >= c.calls/10 { // the first tenth warms up
			took = append(took, time.Since(began))
		}
	}
	return at(took, 50), at(took, 99), nil
}

// together keeps 16 calls on their way and returns how many a second were answered.
func (c config) together(server *client) (float64, error) {
	const width = 16
	for range width {
		if err := server.send(); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	n := 0
	for time.Since(began) < c.duration {
		if err := errors.Join(server.receive(), server.send()); err != nil {
			return 0, err
		}
		n++
	}
	took := time.Since(began)
	for range width {
		if err := server.receive(); err != nil {
			return 0, err
		}
	}
	return float64(n) / took.Seconds(), nil
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

// spent is the processor time that a process took so far, where the system tells it.
func spent(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * (time.Second / 100) // a hundredth of a second is the unit on every Linux
}

// load is how busy the machine is, where the system tells it: times of calls mean little without it.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return ", load " + strings.Fields(string(data))[0]
}
