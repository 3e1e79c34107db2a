package launch

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/gitssh"
)

// ProxyPort is where the host listens inside a sandbox.
const ProxyPort = 3128

// gitSSH asks the host to connect to a remote, and carries what git and the remote say. It returns the exit code.
func gitSSH(args []string) int {
	s, err := dialHost()
	if err == nil {
		err = ask(s, args)
	}
	if err != nil {
		_, _ = os.Stderr.WriteString("tongs: " + strings.TrimSpace(err.Error()) + "\n")
		return gitssh.Failed
	}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := os.Stdin.Read(buf)
			if n > 0 && sendAll(s, buf[:n]) != nil {
				return
			}
			if err != nil {
				_ = unix.Shutdown(s, unix.SHUT_WR)
				return
			}
		}
	}()
	return pieces(s)
}

func dialHost() (int, error) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Connect(s, &unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		return -1, errors.New("remotes of ssh cannot be reached here: " + err.Error())
	}
	return s, nil
}

// ask makes the request. The error is what the host says against it.
func ask(s int, args []string) error {
	joined := strings.Join(append(args, ""), "\x00")
	request := "GET " + gitssh.Path + " HTTP/1.1\r\nHost: tongs\r\nConnection: Upgrade\r\nUpgrade: " + gitssh.Protocol + "\r\n" +
		gitssh.Args + ": " + hex.EncodeToString([]byte(joined)) + "\r\n"
	if v := os.Getenv("GIT_PROTOCOL"); v == "version=1" || v == "version=2" {
		request += gitssh.Version + ": " + v + "\r\n"
	}
	if err := sendAll(s, []byte(request+"\r\n")); err != nil {
		return err
	}
	var head []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(head), "\r\n\r\n"); head = append(head, b[0]) {
		if len(head) > 64<<10 || receiveAll(s, b) != nil {
			return errors.New("the connection was closed")
		}
	}
	if strings.HasPrefix(string(head), "HTTP/1.1 101 ") {
		return nil
	}
	said := make([]byte, 0, 8<<10)
	for b := make([]byte, 1); len(said) < cap(said) && receiveAll(s, b) == nil; {
		said = append(said, b[0])
	}
	return errors.New(strings.TrimPrefix(string(said), "tongs: "))
}

// pieces writes what the remote says, until the host tells how it ended.
func pieces(s int) int {
	var head [5]byte
	for receiveAll(s, head[:]) == nil {
		n := binary.BigEndian.Uint32(head[1:])
		if n > gitssh.MaxPiece {
			break
		}
		data := make([]byte, n)
		if receiveAll(s, data) != nil {
			break
		}
		switch {
		case head[0] == gitssh.Output:
			if _, err := os.Stdout.Write(data); err != nil {
				return gitssh.Failed
			}
		case head[0] == gitssh.Errors:
			_, _ = os.Stderr.Write(data)
		case head[0] == gitssh.Exit && n == 1:
			return int(data[0])
		}
	}
	_, _ = os.Stderr.WriteString("tongs: the connection was closed\n")
	return gitssh.Failed
}

func sendAll(s int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.SendmsgN(s, b, nil, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func receiveAll(s int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(s, b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return errShort
		}
		b = b[n:]
	}
	return nil
}
