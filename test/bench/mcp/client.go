package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// client speaks to one server over its pipes. It is as little as can be, so that what is measured is the server: requests
// are put together beforehand, and of a response only its number and whether it is an error are looked at.
type client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	// head and tail are a call around its number.
	head, tail []byte
	next       int
	buf        []byte
}

// start starts a server.
func start(ctx context.Context, s subject) (*client, error) {
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Env = append(os.Environ(), s.env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &client{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	if err := c.prepare(s); err != nil {
		return nil, err
	}
	return c, cmd.Start()
}

// prepare makes the call that is repeated.
func (c *client) prepare(s subject) error {
	params, err := json.Marshal(map[string]any{"name": s.tool, "arguments": s.args})
	if err != nil {
		return err
	}
	c.head = []byte(`{"jsonrpc":"2.0","id":`)
	c.tail = fmt.Appendf(nil, `,"method":"tools/call","params":%s}`+"\n", params)
	return nil
}

// hello makes the session, lists the tools and returns the length of their definitions.
func (c *client) hello(version string) (int, error) {
	hello := `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"bench","version":"1"}}}`
	if _, err := c.ask(hello, "hello"); err != nil {
		return 0, err
	}
	list := `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{}}`
	listed, err := c.ask(list, "list")
	if err != nil {
		return 0, err
	}
	var res struct {
		Result struct {
			Tools json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	err = errors.Join(json.Unmarshal(listed, &res), fault(listed))
	return len(res.Result.Tools), err
}

// ask sends a message and returns the response of the given number.
func (c *client) ask(message, id string) ([]byte, error) {
	if _, err := io.WriteString(c.in, message+"\n"); err != nil {
		return nil, err
	}
	for {
		line, err := c.out.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		var res struct {
			ID any `json:"id"`
		}
		if err := json.Unmarshal(line, &res); err != nil {
			return nil, err
		}
		if res.ID == id {
			return line, nil
		}
	}
}

// send sends the call once more.
func (c *client) send() error {
	c.next++
	c.buf = append(c.buf[:0], c.head...)
	c.buf = strconv.AppendInt(c.buf, int64(c.next), 10)
	c.buf = append(c.buf, c.tail...)
	_, err := c.in.Write(c.buf)
	return err
}

// receive waits for one more result of the calls that were sent.
func (c *client) receive() error {
	for {
		line, err := c.out.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.Contains(line[:min(len(line), 200)], []byte(`"method"`)) && !bytes.Contains(line, []byte(`"result"`)) {
			continue // a notification
		}
		return fault(line)
	}
}

// fault returns why a response is none, or an error.
func fault(line []byte) error {
	if bytes.Contains(line, []byte(`"isError":true`)) || !bytes.Contains(line, []byte(`"result":`)) {
		return fmt.Errorf("the server answered %.300s", line)
	}
	return nil
}

// close ends the server, as clients do, and waits for it.
func (c *client) close() error {
	_ = c.in.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	return c.cmd.Wait()
}
