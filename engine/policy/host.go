package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// splitHost splits a host or a pattern of hosts into name and port. An IPv6 address stands bare or in brackets, and
// with a port in brackets. A dot at the end of the name does not matter.
func splitHost(s string) (name, port string, ok bool) {
	switch {
	case strings.HasPrefix(s, "["):
		name, port, ok = strings.Cut(s[1:], "]")
		if !ok || port != "" && (len(port) < 2 || port[0] != ':') {
			return "", "", false
		}
		return name, strings.TrimPrefix(port, ":"), name != ""
	case strings.Count(s, ":") > 1:
		return s, "", true
	}
	name, port, colon := strings.Cut(s, ":")
	name = strings.TrimSuffix(name, ".")
	return name, port, name != "" && (!colon || port != "")
}

var errHost = errors.New(`it is not a host, *.host, or one of these with :port`)

// matchHost matches a host. Leniently read, a pattern without a port is about the scheme's own port, which an effect
// leaves out; strictly read, it is about every port.
func matchHost(pattern, host string, strict bool) (bool, error) {
	wantName, wantPort, ok := splitHost(pattern)
	if !ok {
		return false, errHost
	}
	name, port, ok := splitHost(host)
	if !ok {
		return strict, nil
	}
	return matchPort(wantPort, port, strict) && matchName(wantName, name), nil
}

func matchPort(want, port string, strict bool) bool {
	switch {
	case want == "*" || want == port:
		return true
	case strict && want == "":
		return true
	default:
		return strict && port == "" && (want == "80" || want == "443")
	}
}

func matchName(want, name string) bool {
	if want == "*" || equalFold(want, name) {
		return true
	}
	if suffix, ok := strings.CutPrefix(want, "*"); ok {
		at := len(name) - len(suffix)
		return at > 0 && strings.HasPrefix(suffix, ".") && equalFold(suffix, name[at:]) && !numeric(name)
	}
	if !strings.Contains(want, ":") && !strings.Contains(name, ":") {
		return false
	}
	a, errA := netip.ParseAddr(want)
	b, errB := netip.ParseAddr(name)
	return errA == nil && errB == nil && a.Unmap() == b.Unmap()
}

// numeric reports whether the name is an address, which has no sub-domains.
func numeric(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// equalFold compares without regard to the case of ASCII letters only: other letters that fold to them are other hosts.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// checkHost says what is wrong with a pattern of hosts.
func checkHost(pattern string) error {
	if strings.Contains(pattern, "://") || strings.Contains(pattern, "/") {
		return errors.New("it is a URL; write the host alone, with :port where it is not the scheme's own")
	}
	name, port, ok := splitHost(pattern)
	if !ok {
		return errHost
	}
	if port != "" && port != "*" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
			return fmt.Errorf("port %q is not * or a number from 1 to 65535", port)
		}
	}
	if strings.Contains(name, ":") {
		if _, err := netip.ParseAddr(name); err != nil {
			return fmt.Errorf("%q is not an IPv6 address", name)
		}
		return nil
	}
	if name == "*" {
		return nil
	}
	for label := range strings.SplitSeq(strings.TrimPrefix(name, "*."), ".") {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(label string) error {
	if label == "" {
		return errors.New("it has an empty part between dots")
	}
	for _, c := range label {
		switch {
		case c == '*':
			return errors.New("a * can stand only for the whole host, its sub-domains (*.example.com) or the port")
		case c > 127:
			return errors.New("write an international name in its ASCII form, which begins with xn--")
		case c != '-' && c != '_' && (c < '0' || c > '9') && (lower(byte(c)) < 'a' || lower(byte(c)) > 'z'):
			return fmt.Errorf("%q cannot be in the name of a host", c)
		}
	}
	return nil
}
