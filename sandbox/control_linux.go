package sandbox

import (
	"encoding/binary"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/sandbox/internal/launch"
)

// control is the host's end of the stream to init. Its closing, by us or by our death, is what ends the sandbox.
type control struct {
	conn *net.UnixConn
	mu   sync.Mutex
}

func newControl(fd int) (*control, error) {
	f := os.NewFile(uintptr(fd), "control")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return &control{conn: c.(*net.UnixConn)}, nil
}

func (c *control) Close() error { return c.conn.Close() }

// maxMessage bounds what init may make the host keep.
const maxMessage = 1 << 20

func (c *control) write(kind launch.Kind, payload []byte, fds ...int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := make([]byte, 5, 5+len(payload))
	b[0] = byte(kind)
	binary.LittleEndian.PutUint32(b[1:], uint32(len(payload)))
	b = append(b, payload...)
	if len(fds) > 0 {
		n, _, err := c.conn.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	_, err := c.conn.Write(b)
	return err
}

// sendTrees sends detached mounts, as many at a time as a message carries.
func (c *control) sendTrees(fds []int) error {
	const most = 100
	for len(fds) > 0 {
		n := min(len(fds), most)
		if err := c.write(launch.MsgTrees, nil, fds[:n]...); err != nil {
			return err
		}
		fds = fds[n:]
	}
	return nil
}

// read returns the next message, with the descriptors that came with it.
func (c *control) read() (launch.Kind, []byte, []int, error) {
	var head [5]byte
	fds, err := c.fill(head[:])
	if err != nil {
		return 0, nil, fds, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxMessage {
		return 0, nil, fds, os.ErrInvalid
	}
	payload := make([]byte, n)
	more, err := c.fill(payload)
	return launch.Kind(head[0]), payload, append(fds, more...), err
}

func (c *control) fill(b []byte) (fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*4))
	for len(b) > 0 {
		n, oobn, _, _, err := c.conn.ReadMsgUnix(b, oob)
		if err != nil {
			return fds, err
		}
		if n == 0 {
			return fds, os.ErrClosed
		}
		more, err := parseRights(oob[:oobn])
		if err != nil {
			return fds, err
		}
		fds, b = append(fds, more...), b[n:]
	}
	return fds, nil
}
