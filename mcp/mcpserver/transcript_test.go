package mcpserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

var update = flag.Bool("update", false, "write the golden files")

// The transcripts in testdata are what goes over the wire: "->" is what the client sends, "<-" what it is answered. Over
// HTTP each message is a request of its own, with the headers named before it.
func TestTranscripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, name := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, setup{Options: mcpserver.Options{Version: "test"}})
			w.write("a.txt", "one\n")
			play := w.playHTTP
			if strings.Contains(name, "stdio") {
				play = w.playStdio
			}
			got := play(strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"))
			if *update {
				w.must(os.WriteFile(name, []byte(got), 0o644))
			} else if got != string(data) {
				t.Errorf("the transcript differs (-update writes it):\n%s", got)
			}
		})
	}
}

// playStdio plays a script over pipes: after each request it waits for the answer, or for a question of the server.
func (w *world) playStdio(script []string) string {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- w.server.ServeStdio(w.Context(), in, out)
		_ = out.Close()
	}()
	lines := bufio.NewReader(fromServer)
	pending := ""
	var b strings.Builder
	for _, l := range script {
		message, sent := strings.CutPrefix(l, "-> ")
		if !sent {
			if !strings.HasPrefix(l, "<- ") {
				b.WriteString(l + "\n")
			}
			continue
		}
		message = replaced(message, w.saved)
		b.WriteString(l + "\n")
		_, err := io.WriteString(toServer, message+"\n")
		w.must(err)
		id, method := headOf(message)
		if method != "" {
			pending = id
		}
		for pending != "" && id != "" { // an answer of the client lets the call go on that asked
			answer, err := lines.ReadString('\n')
			w.must(err)
			b.WriteString("<- " + w.plain(answer) + "\n")
			if answered, asks := headOf(answer); answered != "" && (answered == pending || asks != "") {
				break
			}
		}
	}
	_ = toServer.Close()
	rest, err := io.ReadAll(lines)
	w.must(err)
	if len(rest) > 0 {
		b.WriteString("<- " + w.plain(string(rest)) + "\n")
	}
	w.must(<-done)
	return b.String()
}

// playHTTP plays a script over HTTP. Lines that begin with "header " set one for all that follow.
func (w *world) playHTTP(script []string) string {
	var b strings.Builder
	header := http.Header{
		"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	for _, l := range script {
		if strings.HasPrefix(l, "<- ") {
			continue
		}
		b.WriteString(l + "\n")
		if set, ok := strings.CutPrefix(l, "header "); ok {
			key, value, _ := strings.Cut(set, ": ")
			header.Set(key, replaced(value, w.saved))
			continue
		}
		message, sent := strings.CutPrefix(l, "-> ")
		if !sent {
			continue
		}
		req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.http.URL+mcpserver.Path, strings.NewReader(replaced(message, w.saved)))
		w.must(err)
		req.Header = header.Clone()
		res, err := http.DefaultClient.Do(req)
		w.must(err)
		body, err := io.ReadAll(res.Body)
		w.must(err)
		_ = res.Body.Close()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			w.saved["SESSION"] = id
		}
		fmt.Fprintf(&b, "<- %d\n", res.StatusCode)
		for line := range strings.Lines(string(body)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok || strings.HasPrefix(line, "{") {
				if !ok {
					data = line
				}
				b.WriteString("<- " + w.plain(data) + "\n")
			}
		}
	}
	return b.String()
}

func headOf(message string) (id, method string) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal([]byte(message), &m)
	return string(m.ID), m.Method
}

func replaced(s string, saved map[string]string) string {
	for name, value := range saved {
		s = strings.ReplaceAll(s, "$"+name, value)
	}
	return s
}

var (
	stateField = regexp.MustCompile(`"requestState":"([^"]+)"`)
	questionID = regexp.MustCompile(`\bq[0-9a-z]{20}\b`)
	shortID    = regexp.MustCompile(`(approvals \w+ )q[0-9a-z]{5}\b`)
	listed     = regexp.MustCompile(`"tools":\[.*\]`)
	moments    = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`)
)

// plain is a message as it is kept: one line, without what differs from run to run. The state of a round is saved.
func (w *world) plain(message string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(message)); err != nil {
		return strings.TrimSpace(message)
	}
	s := b.String()
	if m := stateField.FindStringSubmatch(s); m != nil {
		w.saved["STATE"] = m[1]
		s = strings.ReplaceAll(s, m[1], "$STATE")
	}
	s = questionID.ReplaceAllString(strings.ReplaceAll(s, w.dir, "WORKSPACE"), "QUESTION")
	s = shortID.ReplaceAllString(s, "${1}QUESTION")
	s = moments.ReplaceAllString(s, "TIME")
	return listed.ReplaceAllString(s, `"tools":[...]`)
}
