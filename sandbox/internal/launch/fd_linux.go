package launch

import (
	"encoding/binary"
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// maxFDs is how many descriptors go with one message; the kernel takes 253.
const maxFDs = 200

// conn is one end of the stream between host and init: frames of a kind, a length and a payload, some of which carry
// descriptors. It is not safe for concurrent use, except that one goroutine may read while another writes.
type conn struct{ fd int }

func (c conn) write(kind Kind, payload []byte, fds ...int) error {
	b := make([]byte, 5, 5+len(payload))
	b[0] = byte(kind)
	binary.LittleEndian.PutUint32(b[1:], uint32(len(payload)))
	b = append(b, payload...)
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	for len(b) > 0 {
		n, err := unix.SendmsgN(c.fd, b, oob, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		b, oob = b[n:], nil
	}
	return nil
}

// read returns the next frame, with the descriptors that came with it.
func (c conn) read() (Kind, []byte, []int, error) {
	var head [5]byte
	fds, err := c.fill(head[:])
	if err != nil {
		return 0, nil, fds, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > 64<<20 {
		return 0, nil, fds, errShort
	}
	payload := make([]byte, n)
	more, err := c.fill(payload)
	return Kind(head[0]), payload, append(fds, more...), err
}

func (c conn) fill(b []byte) (fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(maxFDs*4))
	for len(b) > 0 {
		n, oobn, _, _, err := unix.Recvmsg(c.fd, b, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fds, err
		}
		if n == 0 {
			return fds, io.EOF
		}
		more, err := rights(oob[:oobn])
		if err != nil {
			return fds, err
		}
		fds, b = append(fds, more...), b[n:]
	}
	return fds, nil
}

// rights returns the descriptors in a control message.
func rights(oob []byte) (fds []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range msgs {
		got, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return fds, err
		}
		fds = append(fds, got...)
	}
	return fds, nil
}
