package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Bounds of what a server may send.
const (
	// maxMessage is the size of one message.
	maxMessage = 16 << 20
	// maxPerSecond is how many requests and notifications of a server are looked at in a second.
	maxPerSecond = 200
	// maxNoise is how many lines that are no messages are passed over.
	maxNoise = 10_000
)

// stdio is a connection to a program: one message a line on its standard streams. Programs are careless about their
// output, so that lines which are no messages at all are passed over; one that pretends to be a message and is none,
// and more than a server has a reason to send, ends the connection.
type stdio struct {
	in    io.Writer // the program's standard input
	noise func(line []byte)
	end   func() // ends the program
	// progress is told of progress in the order of messages: the SDK would pass it on after the answer.
	progress func(*mcp.ProgressNotificationParams)
	writes   chan []byte
	wrote    chan error
	// writing holds a token while nobody writes.
	writing chan struct{}

	incoming chan jsonrpc.Message
	closed   chan struct{}
	once     sync.Once

	mu      sync.Mutex
	failure error
}

var _ mcp.Connection = (*stdio)(nil)

// newStdio returns the connection. It reads until out ends or the connection is closed; end is called once then.
func newStdio(out io.Reader, in io.Writer, noise func([]byte), progress func(*mcp.ProgressNotificationParams), end func()) *stdio {
	c := &stdio{
		in: in, noise: noise, progress: progress, end: end, writes: make(chan []byte), wrote: make(chan error, 1), writing: make(chan struct{}, 1),
		incoming: make(chan jsonrpc.Message), closed: make(chan struct{}),
	}
	c.writing <- struct{}{}
	go c.readAll(out)
	go c.writeAll()
	return c
}

// Connect implements mcp.Transport: the connection is its own transport.
func (c *stdio) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection.
func (c *stdio) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *stdio) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.end()
	})
	return nil
}

// Read implements mcp.Connection.
func (c *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-c.incoming:
		if !ok {
			return nil, c.fault()
		}
		return msg, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection. A program that does not read its input blocks it until ctx ends; after that the
// input is in the middle of a line, and the connection is of no more use.
func (c *stdio) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	select {
	case <-c.writing:
	case <-c.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { c.writing <- struct{}{} }()
	select {
	case c.writes <- append(data, '\n'):
	case <-c.closed:
		return io.ErrClosedPipe
	}
	select {
	case err := <-c.wrote:
		return err
	case <-c.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		_ = c.Close()
		return ctx.Err()
	}
}

func (c *stdio) writeAll() {
	for {
		select {
		case data := <-c.writes:
			_, err := c.in.Write(data)
			c.wrote <- err
		case <-c.closed:
			return
		}
	}
}

// fault is why the connection ended, io.EOF where the program did.
func (c *stdio) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		return io.EOF
	}
	return c.failure
}

func (c *stdio) readAll(out io.Reader) {
	defer close(c.incoming)
	err := c.read(bufio.NewReaderSize(out, 64<<10))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}

// read passes messages on until there are no more, or the program sends what it may not.
func (c *stdio) read(r *bufio.Reader) error {
	limit := limiter{}
	noise := 0
	for {
		line, size, err := readLine(r, maxMessage)
		if err != nil {
			return err
		}
		msgs, err := parse(line, size)
		if err != nil {
			return err
		}
		if len(msgs) == 0 {
			if noise++; noise > maxNoise {
				return fmt.Errorf("it wrote %d lines to its standard output that are no messages", noise)
			}
			c.noise(line)
		}
		for _, msg := range msgs {
			pass, err := limit.pass(msg)
			if err != nil {
				return err
			}
			if !pass || c.reported(msg) {
				continue
			}
			select {
			case c.incoming <- msg:
			case <-c.closed:
				return io.EOF
			}
		}
	}
}

// reported reports whether the message was one about progress, and tells of it.
func (c *stdio) reported(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.IsCall() || req.Method != "notifications/progress" {
		return false
	}
	p := &mcp.ProgressNotificationParams{}
	if json.Unmarshal(req.Params, p) == nil {
		c.progress(p)
	}
	return true
}

// keptOfLong is how much is kept of the start and the end of a line that is too long.
const keptOfLong = 4 << 10

// readLine reads a line of any length. Of one longer than limit it returns only the start and the end; size is that of
// the whole line.
func readLine(r *bufio.Reader, limit int) (line []byte, size int, err error) {
	var tail []byte
	for {
		part, err := r.ReadSlice('\n')
		size += len(part)
		if size <= limit {
			line = append(line, part...)
		} else {
			tail = append(tail, part...)
			tail = tail[max(0, len(tail)-keptOfLong):]
		}
		switch {
		case err == nil || errors.Is(err, io.EOF) && size > 0:
			if size > limit {
				line = append(bytes.Clone(line[:min(len(line), keptOfLong)]), tail...)
			}
			return bytes.TrimSpace(line), size, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
	}
}

// parse makes messages of a line; a line that does not look like one makes none.
func parse(line []byte, size int) ([]jsonrpc.Message, error) {
	if size > maxMessage {
		return tooLarge(line, size)
	}
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return nil, nil
	}
	var batch []json.RawMessage
	if line[0] == '[' {
		if json.Unmarshal(line, &batch) != nil {
			return nil, nil // a line of a log, such as "[info] ready"
		}
	} else {
		batch = []json.RawMessage{line}
	}
	msgs := make([]jsonrpc.Message, 0, len(batch))
	for _, raw := range batch {
		msg, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("it sent a line that is no message of the protocol (%v): %.200q", err, raw)
		}
		msgs = append(msgs, msg)
	}
	return msgs, nil
}

var (
	idAtStart = regexp.MustCompile(`^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,200}")\s*,`)
	idAtEnd   = regexp.MustCompile(`[}\]"]\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}$`)
)

// codeTooLarge is the code of the error that stands for an answer that was too large.
const codeTooLarge = -32099

// tooLarge makes an error of an answer that is too large, for the call that it answers. Where that cannot be told, the
// connection ends.
func tooLarge(line []byte, size int) ([]jsonrpc.Message, error) {
	said := fmt.Sprintf("it sent a message of %d bytes, more than %d", size, maxMessage)
	m := idAtStart.FindSubmatch(line)
	if m == nil {
		m = idAtEnd.FindSubmatch(line)
	}
	if m == nil {
		return nil, errors.New(said)
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": json.RawMessage(m[1]), "error": map[string]any{"code": codeTooLarge, "message": said},
	})
	if err != nil {
		return nil, err
	}
	msg, err := jsonrpc.DecodeMessage(answer)
	return []jsonrpc.Message{msg}, err
}

// limiter passes what a server has a reason to send, as often as it may.
type limiter struct {
	second int64
	seen   int
}

// pass reports whether a message is passed on. Notifications beyond the limit are dropped, as are those that nobody
// here listens to; requests beyond it are an error, since each would wait for its answer.
func (l *limiter) pass(msg jsonrpc.Message) (bool, error) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return true, nil
	}
	if !req.IsCall() && !heard(req.Method) {
		return false, nil
	}
	if now := time.Now().Unix(); now != l.second {
		l.second, l.seen = now, 0
	}
	l.seen++
	if l.seen <= maxPerSecond {
		return true, nil
	}
	if req.IsCall() {
		return false, fmt.Errorf("it sent more than %d requests in a second", maxPerSecond)
	}
	return false, nil
}

func heard(method string) bool {
	switch method {
	case "notifications/progress", "notifications/cancelled", "notifications/tools/list_changed",
		"notifications/prompts/list_changed", "notifications/subscriptions/acknowledged":
		return true
	}
	return false
}

// tail keeps the end of what a server wrote to its standard error, for messages.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const maxTail = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-maxTail):]...)
	t.data = t.data[max(0, len(t.data)-maxTail):]
	return len(p), nil
}

// last returns the last lines.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := bytes.TrimSpace(t.data)
	const most = 600
	if len(data) > most {
		data = data[len(data)-most:]
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			data = data[i+1:]
		}
	}
	return cleantext.Text(string(data), most)
}
