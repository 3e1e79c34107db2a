//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpClient starts 'tongs mcp' with the arguments and connects to it.
func (d *desk) mcpClient(args ...string) (*mcp.ClientSession, func(os.Signal)) {
	d.t.Helper()
	cmd := d.command(append([]string{"mcp"}, args...)...)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).
		Connect(d.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	return c, func(s os.Signal) { _ = cmd.Process.Signal(s) }
}

func mcpCall(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// What a client starts takes the mode all from the user's own configuration only: neither the environment nor the
// command line, which the client writes, can widen it.
func TestMCPIsNotWidenedByItsClient(t *testing.T) {
	d := newDesk(t)
	config := filepath.Join(d.dir, "home", "config", "config.yaml")
	if err := os.WriteFile(config, []byte("approval:\n  mode: all\n  tools:\n    edit: preApproved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	edit := map[string]any{"path": "a.txt", "oldString": "one", "newString": "two"}
	for _, args := range [][]string{{"--wait", "0s"}, {"--wait", "0s", "--mode", "all"}} {
		c, _ := d.mcpClient(args...)
		if said := mcpCall(t, c, "edit", edit); !strings.HasPrefix(said, "APPROVAL_REQUIRED") || !strings.Contains(said, "tongs approvals approve q") {
			t.Errorf("%v: %s", args, said)
		}
	}
	if d.read("a.txt") != "one\n" {
		t.Errorf("the file is %q", d.read("a.txt"))
	}
	if _, _, code := d.run("call", "edit", "path=a.txt", "oldString=one", "newString=two"); code != 0 {
		t.Errorf("the person's own call: exit %d", code)
	}
}

// The definitions of every built-in tool together cost a model little.
func TestMCPDefinitionsAreSmall(t *testing.T) {
	d := newDesk(t)
	c, _ := d.mcpClient()
	listed, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, tool := range listed.Tools {
		data, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		total += len(data)
	}
	t.Logf("%d tools, %d bytes", len(listed.Tools), total)
	if total > 15<<10 {
		t.Errorf("the definitions of %d tools have %d bytes, more than 15 KiB: shorten descriptions", len(listed.Tools), total)
	}
}

// A tool that few need is listed only where configuration offers it, and can be called in any case.
func TestMCPOffersExtraTools(t *testing.T) {
	for config, offered := range map[string]bool{"": false, "offer: [http_request]\n": true, "offer: [web]\n": true} {
		d := newDesk(t)
		d.write("../home/config/config.yaml", config)
		c, _ := d.mcpClient("--wait", "0s")
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		listed := slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "http_request" })
		if listed != offered {
			t.Errorf("with %q: listed is %v", config, listed)
		}
		if said := mcpCall(t, c, "http_request", map[string]any{"url": "https://example.com/", "method": "PUT", "body": "x"}); !strings.HasPrefix(said, "APPROVAL_REQUIRED") {
			t.Errorf("with %q: %s", config, said)
		}
	}
}

// heard keeps the lines that a client reads.
type heard struct {
	io.ReadCloser
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p[:n])
	return n, err
}

// served returns the tools of the tools/list answer that the client read, byte for byte.
func (h *heard) served(t *testing.T) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range bytes.Lines(h.text.Bytes()) {
		var message struct {
			Result struct {
				Tools json.RawMessage `json:"tools"`
			} `json:"result"`
		}
		if json.Unmarshal(line, &message) == nil && len(message.Result.Tools) > 0 {
			return string(message.Result.Tools)
		}
	}
	t.Fatalf("no tools were listed:\n%s", h.text.String())
	return ""
}

// What 'tongs tools --format mcp' prints is what 'tongs mcp' serves, byte for byte.
func TestMCPServesWhatToolsPrints(t *testing.T) {
	d := newDesk(t)
	home := filepath.Join(d.dir, "home")
	for name, text := range map[string]string{
		"config/config.yaml": "descriptions: ../texts\n", "texts/read_file.txt": "Reads, by a folder that a server does not take from the environment.",
		".forge/tools/says/tool.yaml": "name: says\ndescription: Says <b> & \"all\".\nentrypoint: says\n", ".forge/tools/says/says": "#!/bin/sh\necho hi\n",
	} {
		name = filepath.Join(home, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := d.command("mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	h := &heard{ReadCloser: out}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: h, Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	listed, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if listed.NextCursor != "" {
		t.Fatal("the list has more pages than one")
	}
	served := h.served(t)
	if !strings.Contains(served, `"name":"says"`) {
		t.Error("the custom tool is not served")
	}
	printed, stderr, code := d.run("tools", "--format", "mcp")
	if code != 0 {
		t.Fatal(stderr)
	}
	if strings.TrimSuffix(printed, "\n") != served {
		t.Errorf("%d bytes are printed, %d served:\n%s\n%s", len(printed)-1, len(served), printed, served)
	}
	t.Logf("%d tools, %d bytes", len(listed.Tools), len(served))
}

// A signal ends the server, and what it runs.
func TestMCPEndsWithASignal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the commands of this test need Linux")
	}
	d := newDesk(t)
	c, signal := d.mcpClient("--wait", "0s")
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "run_code", Arguments: map[string]any{
			"language": "bash", "code": "exec sleep 377377377",
		}})
		done <- err
	}()
	sleeping := func() bool {
		found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range found {
			if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), "sleep\x00377377377") {
				return true
			}
		}
		return false
	}
	d.eventually(sleeping)
	signal(syscall.SIGTERM)
	<-done
	d.eventually(func() bool { return !sleeping() })
}

func TestServeShowsASnippetThatWorks(t *testing.T) {
	d := newDesk(t)
	cmd := d.command("serve", "--addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var snippet struct {
		Servers map[string]struct {
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
		} `json:"mcpServers"`
	}
	dec := json.NewDecoder(lines)
	if err := dec.Decode(&snippet); err != nil {
		t.Fatal(err)
	}
	s := snippet.Servers["tongs"]
	d.logsIn(bufio.NewReader(io.MultiReader(dec.Buffered(), lines)), s.URL)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.URL, MaxRetries: -1, HTTPClient: &http.Client{Transport: headers(s.Headers)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if said := mcpCall(t, c, "read_file", map[string]any{"path": "a.txt"}); !strings.Contains(said, "one") {
		t.Error(said)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitStatus(t, cmd.Wait()); code != exitOK {
		t.Errorf("exit %d", code)
	}
	_ = c.Close()
	if _, stderr, code := d.run("serve", "--addr", "0.0.0.0:0"); code == exitOK || !strings.Contains(stderr, "--remote") {
		t.Errorf("an address that others can reach: exit %d, %s", code, stderr)
	}
}

// logsIn checks that the link to the console, the last line that is printed, logs in once, and that the token of MCP does
// not.
func (d *desk) logsIn(printed *bufio.Reader, mcpURL string) {
	d.t.Helper()
	var link string
	for !strings.Contains(link, "/login#") {
		line, err := printed.ReadString('\n')
		if err != nil {
			d.t.Fatal(err)
		}
		link = strings.TrimSpace(line)
	}
	base, token, _ := strings.Cut(link, "/login#")
	if base+"/mcp" != mcpURL {
		d.t.Errorf("the console is at %s, MCP at %s", base, mcpURL)
	}
	for _, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		res, err := http.Post(base+"/login", "application/json", strings.NewReader(`{"token":"`+token+`"}`))
		if err != nil {
			d.t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			d.t.Errorf("the link logged in with status %d, want %d", res.StatusCode, want)
		}
	}
}

type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for key, value := range h {
		r.Header.Set(key, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
