package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

// raw is a client that writes what a test wants it to.
type raw struct {
	*world
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
}

// speak starts a server over pipes, and a session of the given revision.
func (w *world) speak(version string) *raw {
	w.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	r := &raw{world: w, in: toServer, out: bufio.NewReaderSize(fromServer, 1<<20), ended: make(chan error, 1)}
	go func() {
		r.ended <- w.server.ServeStdio(context.Background(), in, out)
		_ = out.Close()
	}()
	w.Cleanup(func() { _ = toServer.Close() })
	r.say(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	if answer := r.hear(); !strings.Contains(answer, version) {
		w.Fatal(answer)
	}
	r.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return r
}

func (r *raw) say(message string) {
	r.Helper()
	_, err := io.WriteString(r.in, message+"\n")
	r.must(err)
}

// hear returns the next line.
func (r *raw) hear() string {
	r.Helper()
	line, err := r.out.ReadString('\n')
	r.must(err)
	return line
}

// Whatever a client sends as a call is answered once, with its own number.
func TestLines(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	r := w.speak("2025-11-25")
	for _, c := range []struct{ name, message, id, want string }{
		{"a call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}}`, `1`, `one`},
		{"a number that is text", `{"jsonrpc":"2.0","id":"ä\"x","method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}}`, `"ä\"x"`, `one`},
		{"with an end of another kind", ` {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}} ` + "\r", `2`, `one`},
		{"blank lines before it", "\n \n" + `{"jsonrpc":"2.0","id":3,"method":"ping"}`, `3`, `"result":{}`},
		{"metadata", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{"x":1},"name":"read_file","arguments":{"path":"a.txt"}}}`, `4`, `one`},
		{"no arguments", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list_directory"}}`, `5`, `a.txt`},
		{"arguments that are null", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"list_directory","arguments":null}}`, `6`, `a.txt`},
		{"an error of the tool", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"none"}}}`, `7`, `"isError":true`},
		{"an alias", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}}`, `8`, `one`},
		{"an unknown tool", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"read_fil","arguments":{}}}`, `9`, `did you mean`},
		{"no name", `{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"arguments":{}}}`, `10`, `"error":`},
		{"a name that is a number", `{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":1}}`, `11`, `"code":-32602`},
		{"no parameters", `{"jsonrpc":"2.0","id":12,"method":"tools/call"}`, `12`, `"error":`},
		{"parameters that are a list", `{"jsonrpc":"2.0","id":13,"method":"tools/call","params":[1]}`, `13`, `"error":`},
		{"names in capitals", `{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"Name":"read_file","Arguments":{"path":"a.txt"}}}`, `14`, `"error":`},
		{"an unknown method", `{"jsonrpc":"2.0","id":15,"method":"tools/cal","params":{}}`, `15`, `"code":-32601`},
	} {
		r.say(c.message)
		answer := r.hear()
		var got struct {
			ID json.RawMessage `json:"id"`
		}
		w.must(json.Unmarshal([]byte(answer), &got))
		if string(got.ID) != c.id || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %s, want %s with %q", c.name, answer, c.id, c.want)
		}
	}
	_ = r.in.Close()
	w.must(<-r.ended)
}

// A notification cancels a call, and what it runs; the request is answered all the same.
func TestLinesCancel(t *testing.T) {
	needsLinux(t)
	w := newWorld(t, setup{mode: tongs.ModeAll})
	r := w.speak("2025-11-25")
	mark := fmt.Sprintf("36%d", time.Now().UnixNano()%1e9)
	r.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell","arguments":{"command":"sleep ` + mark + `"}}}`)
	eventually(t, func() bool { return running(t, mark) >= 1 })
	r.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`) // another one
	r.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if answer := r.hear(); !strings.Contains(answer, string(tongs.CodeCancelled)) {
		t.Error(answer)
	}
	if n := running(t, mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	r.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_exists","arguments":{"path":"a"}}}`)
	if answer := r.hear(); strings.Contains(answer, "error") {
		t.Errorf("its number again: %s", answer)
	}
}

// A batch is answered as one, where the revision has batches; elsewhere it ends the connection.
func TestLinesBatch(t *testing.T) {
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}},` +
		`{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	r := w.speak("2025-03-26")
	r.say(batch)
	var list []struct{ ID int }
	w.must(json.Unmarshal([]byte(r.hear()), &list))
	if len(list) != 2 || list[0].ID+list[1].ID != 3 {
		t.Errorf("%+v", list)
	}
	w = newWorld(t, setup{})
	r = w.speak("2025-06-18")
	r.say(batch)
	if err := <-r.ended; err != nil {
		t.Logf("ended with: %v", err)
	}
	if _, err := r.out.ReadByte(); err == nil {
		t.Error("a batch was answered")
	}
}

// What is no message ends the connection rather than being guessed at.
func TestLinesThatAreNone(t *testing.T) {
	for name, message := range map[string]string{
		"text": "hello", "half": `{"jsonrpc":"2.0"`, "two": `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`,
		"another version": `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "a list in a list": `[[]]`,
		"deep": strings.Repeat("[", 20000), "a method that is a number": `{"jsonrpc":"2.0","id":1,"method":1}`,
		"a number that is an object": `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newWorld(t, setup{}).speak("2025-03-26")
			r.say(message)
			<-r.ended
			if line, err := r.out.ReadString('\n'); err == nil {
				t.Errorf("it was answered: %s", line)
			}
		})
	}
}
