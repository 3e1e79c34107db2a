package launch

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// answer answers a question of the host about the loopback interface. Nothing in it waits.
func (p *initProcess) answer(payload []byte) {
	q, err := DecodeQuestion(payload)
	if err != nil {
		return
	}
	a := &Answer{ID: q.ID}
	if q.Port == 0 {
		a.Ports = p.ports()
		p.send(MsgAnswer, a.Encode())
		return
	}
	if q.Port == p.spec.Listen || slices.Contains(p.spec.Forward, q.Port) {
		a.Error = "that port is the host's own"
		p.send(MsgAnswer, a.Encode())
		return
	}
	s, err := connecting(q)
	if err != nil {
		a.Error = err.Error()
		p.send(MsgAnswer, a.Encode())
		return
	}
	p.send(MsgAnswer, a.Encode(), s)
	_ = unix.Close(s)
}

// connecting returns a socket that is being connected.
func connecting(q *Question) (int, error) {
	family, to := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(q.Port), Addr: [4]byte{127, 0, 0, 1}})
	if q.Six {
		family, to = unix.AF_INET6, &unix.SockaddrInet6{Port: int(q.Port), Addr: [16]byte{15: 1}}
	}
	s, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(s, to); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		_ = unix.Close(s)
		return -1, err
	}
	return s, nil
}

// maxPorts is how many ports are told.
const maxPorts = 64

// ports are those that programs of the sandbox listen on, without the host's own.
func (p *initProcess) ports() (list []Port) {
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			port, ok := listening(line)
			if !ok || port.Number == p.spec.Listen || slices.Contains(p.spec.Forward, port.Number) || len(list) == maxPorts {
				continue
			}
			if !slices.ContainsFunc(list, func(o Port) bool { return o.Number == port.Number }) {
				list = append(list, port)
			}
		}
	}
	return list
}

// listening reads a line of the kernel's list of sockets.
func listening(line string) (port Port, ok bool) {
	const listens, loopback6 = "0A", "00000000000000000000000001000000"
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[3] != listens {
		return port, false
	}
	addr, number, _ := strings.Cut(fields[1], ":")
	n, err := strconv.ParseUint(number, 16, 16)
	if err != nil || n == 0 {
		return port, false
	}
	return Port{Number: uint16(n), Six: addr == loopback6}, true
}
