package gitrelay

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitssh"
	"github.com/tongs-ai/tongs/network"
)

// serveSSH answers git that wants to run ssh.
func (s *Session) serveSSH(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close") // a refusal is read to its end
	q, err := parseSSH(r)
	if err != nil {
		refuse(w, err)
		return
	}
	ctx, cancel := context.WithCancel(network.Serving(r.Context()))
	defer cancel()
	c, err := s.ssh(ctx, q)
	if err == nil {
		err = s.reachable(q.remote)
	}
	if err == nil {
		err = s.contact(ctx, q.remote, q.service)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	dir, remove, err := s.scratch()
	if err != nil {
		refuse(w, err)
		return
	}
	defer remove()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+gitssh.Protocol+"\r\n\r\n"); err != nil {
		return
	}
	x := &sshExchange{Session: s, command: c, request: q, dir: dir, in: buffered.Reader, out: &pieces{conn: conn}}
	if q.service == uploadPack {
		err = x.fetch(ctx)
	} else {
		err = x.push(ctx)
	}
	x.end(err)
}

// sshExchange is one run of ssh, as git sees it.
type sshExchange struct {
	*Session
	command *sshCommand
	request *sshRequest
	dir     string
	in      *bufio.Reader
	out     *pieces
}

// pieces writes to git what the remote says.
type pieces struct {
	mu   sync.Mutex
	conn net.Conn
}

func (p *pieces) write(kind byte, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for first := true; first || len(data) > 0; first = false {
		n := min(len(data), gitssh.MaxPiece)
		head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(n))
		if _, err := p.conn.Write(append(head, data[:n]...)); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// stream is one kind of piece.
type stream struct {
	*pieces
	kind byte
}

func (s stream) Write(p []byte) (int, error) {
	if err := s.write(s.kind, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// end tells git how ssh ended.
func (x *sshExchange) end(err error) {
	code := byte(0)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = byte(max(exit.ExitCode(), 1))
	} else if err != nil {
		_ = x.out.write(gitssh.Errors, []byte("tongs: "+sentence(err)+"\n"))
		code = gitssh.Failed
	}
	_ = x.out.write(gitssh.Exit, []byte{code})
}

// fetch passes a fetch through.
func (x *sshExchange) fetch(ctx context.Context) error {
	cmd, err := x.connect(ctx, x.command, x.request, x.dir)
	if err != nil {
		return err
	}
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = stream{x.out, gitssh.Output}, stream{x.out, gitssh.Errors}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(input, x.in)
		_ = input.Close()
	}()
	return cmd.Wait()
}

// receiver is a remote that waits for a push.
type receiver struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
	advert *advert
}

// receiver connects to a remote, and reads what it has.
func (x *sshExchange) receiver(ctx context.Context) (*receiver, error) {
	cmd, err := x.connect(ctx, x.command, x.request, x.dir)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = stream{x.out, gitssh.Errors}
	r := &receiver{cmd: cmd}
	if r.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.output = bufio.NewReader(output)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if r.advert, err = parseAdvert(r.output); err != nil {
		_ = r.input.Close()
		if failed := cmd.Wait(); failed != nil {
			return nil, failed // ssh told why
		}
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s: %w", x.request.remote, err)
	}
	return r, nil
}

// leave ends a connection over which nothing is pushed.
func (r *receiver) leave() error {
	_, _ = io.WriteString(r.input, flush)
	_ = r.input.Close()
	_, _ = io.Copy(io.Discard, r.output)
	return r.cmd.Wait()
}

// push decides a push and sends it, over a connection of its own: how long somebody takes to answer, no server waits.
func (x *sshExchange) push(ctx context.Context) error {
	r, err := x.receiver(ctx)
	if err != nil {
		return err
	}
	if err := r.leave(); err != nil {
		return err
	}
	remote := x.request.remote
	x.advertised(remote, r.advert)
	if err := x.out.write(gitssh.Output, r.advert.lines); err != nil {
		return err
	}
	p, err := x.decidePush(ctx, remote, x.dir, x.in)
	switch {
	case errors.Is(err, io.EOF) && p == nil, err == nil && len(p.commands) == 0:
		return nil // git has nothing to push
	case err != nil && p != nil:
		return x.out.write(gitssh.Output, p.failure(err))
	case err != nil:
		return err
	}
	return x.send(ctx, p)
}

// send sends a push that was decided.
func (x *sshExchange) send(ctx context.Context, p *push) error {
	r, err := x.receiver(ctx)
	if err != nil {
		return err
	}
	x.advertised(p.remote, r.advert)
	if err := x.current(p); err != nil {
		_ = r.leave()
		return x.out.write(gitssh.Output, p.failure(err))
	}
	body, _, err := p.body()
	if err != nil {
		_ = r.leave()
		return err
	}
	defer body.Close()
	x.call.Permit.Sent(p.summary())
	go func() {
		_, _ = io.Copy(r.input, body)
		_ = r.input.Close()
	}()
	if _, err := io.Copy(stream{x.out, gitssh.Output}, r.output); err != nil {
		return err
	}
	return r.cmd.Wait()
}
