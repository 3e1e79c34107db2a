//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// loopbackOnly brings the loopback device up, and fails where there is any other: then this is not the namespace that
// was made for the run.
func loopbackOnly() error {
	devices, err := net.Interfaces()
	if err != nil {
		return err
	}
	if len(devices) != 1 || devices[0].Flags&net.FlagLoopback == 0 {
		return fmt.Errorf("there are network devices besides the loopback: %v", devices)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(devices[0].Name)
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bring up the loopback device: %w", err)
	}
	return nil
}

// unroutable is how many packets this network namespace could not send anywhere: attempts to reach beyond loopback.
func unroutable() int {
	data, err := os.ReadFile("/proc/self/net/snmp")
	if err != nil {
		return -1
	}
	var header []string
	for l := range strings.Lines(string(data)) {
		fields := strings.Fields(l)
		if len(fields) == 0 || fields[0] != "Ip:" {
			continue
		}
		if header == nil {
			header = fields
			continue
		}
		if i := slices.Index(header, "OutNoRoutes"); i >= 0 {
			n, _ := strconv.Atoi(fields[i])
			return n
		}
	}
	return -1
}

// adopt makes this process the parent of every descendant whose own parent ends, so that none gets away unseen.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// leftBehind waits until every descendant is gone, and returns the command lines of those that stay, which it ends. It must
// be called when nothing else in this process waits for children.
func leftBehind(patience time.Duration) []string {
	deadline := time.Now().Add(patience)
	for {
		for { // those that ended and were adopted
			if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != nil || pid <= 0 {
				break
			}
		}
		left := children()
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			var lines []string
			for _, pid := range left {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				lines = append(lines, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(line), "\x00", " ")))
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			return lines
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// endAll ends every descendant: those that are there after some time, and what they leave, which this process adopts.
func endAll(patience time.Duration) {
	for range 10 {
		if len(leftBehind(patience)) == 0 {
			return
		}
		patience = 100 * time.Millisecond
	}
}

// children are the processes whose parent this one is.
func children() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}
