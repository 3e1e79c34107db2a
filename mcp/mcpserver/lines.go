package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is a connection of one message in each line: what the SDK's own does, for a fraction of its memory. A message may
// be a batch of several before the revision that did away with them.
type lines struct {
	in       io.Closer
	incoming chan incoming
	closed   chan struct{}
	once     sync.Once
	// direct takes the calls; nil leaves them to the SDK.
	direct *direct
	// queue is what is left of a batch; only Read uses it.
	queue []jsonrpc.Message

	mu  sync.Mutex
	out io.Writer
	buf []byte
	// version is the revision that was agreed upon, empty before that.
	version string
	// batches are those whose responses are not complete, by the requests that they wait for.
	batches map[jsonrpc.ID]*batch
}

// incoming is a line that was read, or why there is none.
type incoming struct {
	line []byte
	err  error
}

// batch gathers the responses to requests that came together.
type batch struct {
	left int
	all  [][]byte
}

// noBatches is the first revision in which a line is one message.
const noBatches = "2025-06-18"

// lineTransport makes the connection of one client.
type lineTransport struct {
	in  io.ReadCloser
	out io.Writer
	// server makes calls without the SDK; nil leaves them to it.
	server *Server
}

var _ mcp.Transport = lineTransport{}

// Connect implements mcp.Transport.
func (t lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lines{in: t.in, out: t.out, incoming: make(chan incoming, 16), closed: make(chan struct{})}
	if t.server != nil {
		c.direct = &direct{server: t.server, conn: c}
	}
	go c.scan(t.in)
	return c, nil
}

// scan reads lines until there are no more. It has a goroutine of its own, since a read may not end when it should.
func (c *lines) scan(r io.Reader) {
	in := bufio.NewReaderSize(r, 16<<10)
	for {
		line, err := readLine(in)
		if err == nil && len(line) == 0 {
			continue
		}
		select {
		case c.incoming <- incoming{line, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// readLine returns the next line, without the space around it. What comes after the last line's end is one too.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) > maxLine {
			return nil, fmt.Errorf("a message has more than %d bytes", maxLine)
		}
		line = append(line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (!errors.Is(err, io.EOF) || len(bytes.TrimSpace(line)) == 0):
			return nil, err
		default:
			return bytes.TrimSpace(line), nil
		}
	}
}

// SessionID implements mcp.Connection: there is only one session.
func (c *lines) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *lines) Close() (err error) {
	c.once.Do(func() {
		close(c.closed)
		err = c.in.Close()
	})
	return err
}

// Read implements mcp.Connection.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.read(ctx)
		req, ok := msg.(*jsonrpc.Request)
		if err != nil || !ok || c.direct == nil || !c.direct.take(c.agreed(), req) {
			return msg, err
		}
	}
}

// agreed returns the revision that was agreed upon.
func (c *lines) agreed() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// read returns the next message.
func (c *lines) read(ctx context.Context) (jsonrpc.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		return next, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	case next := <-c.incoming:
		switch {
		case next.err != nil:
			return nil, next.err
		case next.line[0] == '[':
			return c.unpack(next.line)
		default:
			return decode(next.line)
		}
	}
}

// decode reads a message. The names of its parts count as they are spelled.
func decode(line []byte) (jsonrpc.Message, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil {
		return nil, fmt.Errorf("a line is no message: %w", err)
	}
	if string(parts["jsonrpc"]) != `"2.0"` || parts["method"] == nil {
		return jsonrpc.DecodeMessage(line) // a response, or what is wrong is for the SDK to say
	}
	req := &jsonrpc.Request{Params: parts["params"]}
	if err := json.Unmarshal(parts["method"], &req.Method); err != nil {
		return nil, fmt.Errorf("the method of a message is no text: %w", err)
	}
	if raw := parts["id"]; raw != nil {
		var id any
		err := json.Unmarshal(raw, &id)
		if err == nil {
			req.ID, err = jsonrpc.MakeID(id)
		}
		if err != nil {
			return nil, err
		}
	}
	return req, nil
}

// unpack reads a batch, returns its first message and keeps the others.
func (c *lines) unpack(line []byte) (jsonrpc.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version >= noBatches {
		return nil, fmt.Errorf("there are no batches of messages in the revision %s", c.version)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil || len(raw) == 0 {
		return nil, errors.Join(errors.New("a line is no batch of messages"), err)
	}
	b := &batch{}
	for _, one := range raw {
		msg, err := decode(one)
		if err != nil {
			return nil, err
		}
		c.queue = append(c.queue, msg)
		req, ok := msg.(*jsonrpc.Request)
		if !ok || !req.IsCall() {
			continue
		}
		if c.batches[req.ID] != nil {
			return nil, fmt.Errorf("two requests of a batch have the number %v", req.ID.Raw())
		}
		if c.batches == nil {
			c.batches = map[jsonrpc.ID]*batch{}
		}
		c.batches[req.ID] = b
		b.left++
	}
	next := c.queue[0]
	c.queue = c.queue[1:]
	return next, nil
}

// Write implements mcp.Connection.
func (c *lines) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	res, _ := msg.(*jsonrpc.Response)
	if res != nil && c.version == "" {
		c.version = versionIn(res)
	}
	data, err := appendMessage(c.buf[:0], msg)
	if err != nil {
		return err
	}
	if cap(data) <= 64<<10 {
		c.buf = data
	}
	if res != nil && c.batches[res.ID] != nil {
		b := c.batches[res.ID]
		delete(c.batches, res.ID)
		b.all = append(b.all, bytes.Clone(data))
		if b.left--; b.left > 0 {
			return nil
		}
		data = slicesOf(b.all)
	}
	_, err = c.out.Write(append(data, '\n'))
	return err
}

// slicesOf is an array of the given values.
func slicesOf(all [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']')
}

// versionIn is the revision that a response to a client's first request names, empty where it is another response.
func versionIn(res *jsonrpc.Response) string {
	if !bytes.Contains(res.Result, []byte(`"protocolVersion"`)) {
		return ""
	}
	var first struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(res.Result, &first) // what cannot be read names none
	return first.ProtocolVersion
}

// appendMessage adds a message as one line, without its end.
func appendMessage(buf []byte, msg jsonrpc.Message) ([]byte, error) {
	res, ok := msg.(*jsonrpc.Response)
	number, isNumber := int64(0), false
	if ok {
		number, isNumber = res.ID.Raw().(int64)
	}
	if !isNumber || res.Error != nil || len(res.Result) == 0 || bytes.IndexByte(res.Result, '\n') >= 0 {
		data, err := jsonrpc.EncodeMessage(msg)
		return append(buf, data...), err
	}
	buf = append(buf, `{"jsonrpc":"2.0","id":`...)
	buf = strconv.AppendInt(buf, number, 10)
	buf = append(buf, `,"result":`...)
	buf = append(buf, res.Result...)
	return append(buf, '}'), nil
}
