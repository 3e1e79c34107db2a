package mcpserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Listen listens on an address of this machine. Others can reach addresses that are not loopback, so they are refused
// unless remote says that this is meant.
func Listen(addr string, remote bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w; write it as HOST:PORT, such as 127.0.0.1:7333", addr, err)
	}
	if !loopback(host) && !remote {
		return nil, fmt.Errorf("address %q can be reached from other machines; use 127.0.0.1:%s, or say that you mean it with --remote",
			addr, port)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	// What a name leads to is somebody else's word.
	if bound, ok := l.Addr().(*net.TCPAddr); ok && !bound.IP.IsLoopback() && !remote {
		_ = l.Close()
		return nil, fmt.Errorf("address %q leads to %s, which can be reached from other machines; use 127.0.0.1:%s", addr, bound, port)
	}
	return l, nil
}

// ListenSocket listens on a unix socket that only its owner can open: its directory is made so, or must be. A socket that
// nobody listens on any more is replaced.
func ListenSocket(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is there and is not a socket; choose another name", path)
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("another server listens on %s; stop it first, or choose another name", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		if strings.Contains(err.Error(), "invalid argument") && len(path) > 100 {
			return nil, fmt.Errorf("%s: a socket's path has at most about 100 bytes, and this has %d; choose a shorter one", path, len(path))
		}
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}
