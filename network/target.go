package network

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/tongs-ai/tongs"
)

// Target is where a connection should go, in the one form that rules, questions and the log know.
type Target struct {
	// Host is a lower-case ASCII name without a dot at the end, or an address without brackets.
	Host string
	Port uint16
}

// ParseTarget reads "host" or "host:port"; where no port is written it is the given one. Every spelling of a host
// becomes one form, and spellings that programs read differently are refused.
func ParseTarget(s string, port uint16) (Target, error) {
	host := s
	switch {
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return Target{}, badHost(s, "has an unclosed bracket")
		}
		if addr, err := netip.ParseAddr(s[1:end]); err != nil || !addr.Is6() {
			return Target{}, badHost(s, "has something other than an IPv6 address in its brackets")
		}
		host = s[1:end]
		if rest := s[end+1:]; rest != "" {
			if !strings.HasPrefix(rest, ":") {
				return Target{}, badHost(s, "has something after its bracket that is not a port")
			}
			p, err := parsePort(rest[1:])
			if err != nil {
				return Target{}, badHost(s, err.Error())
			}
			port = p
		}
	case strings.Count(s, ":") == 1:
		name, number, _ := strings.Cut(s, ":")
		p, err := parsePort(number)
		if err != nil {
			return Target{}, badHost(s, err.Error())
		}
		host, port = name, p
	}
	host, err := canonicalHost(host)
	if err != nil {
		return Target{}, badHost(s, err.Error())
	}
	if port == 0 {
		return Target{}, badHost(s, "has no port")
	}
	return Target{Host: host, Port: port}, nil
}

// Effect returns the effect of connecting there. The ports of HTTP and HTTPS are not written.
func (t Target) Effect() tongs.Effect {
	return tongs.Effect{Kind: tongs.EffectNetwork, Host: t.Name()}
}

// Name is the host as rules spell it: with its port where that is neither 80 nor 443.
func (t Target) Name() string {
	if t.Port == 80 || t.Port == 443 {
		return t.Host
	}
	return t.String()
}

// String is host:port, as one dials it.
func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

func badHost(s, why string) error {
	return tongs.Errorf(tongs.CodeNetworkError, "host %q %s; write a plain name or address, such as example.com or example.com:8443",
		s, why)
}

type hostError string

func (e hostError) Error() string { return string(e) }

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' || s[0] == '+' {
		return 0, hostError("has no port between 1 and 65535 after its colon")
	}
	return uint16(n), nil
}

// canonicalHost gives a host its one form.
func canonicalHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", hostError("has a zone")
		}
		return addr.Unmap().String(), nil
	}
	host = strings.TrimSuffix(host, ".")
	switch {
	case host == "":
		return "", hostError("is empty")
	case strings.ContainsAny(host, "@/\\?#%: \t\r\n\x00"):
		return "", hostError("has a character that no host name has")
	}
	ascii, err := idna.Lookup.ToASCII(strings.ToLower(host))
	if err != nil || len(ascii) > 253 {
		return "", hostError("is not a valid name")
	}
	for label := range strings.SplitSeq(ascii, ".") {
		if label == "" || len(label) > 63 {
			return "", hostError("is not a valid name")
		}
	}
	// "2130706433", "0x7f.1" and "017700000001" are addresses to some programs and names to others.
	if numericName(ascii) {
		return "", hostError("is a number that programs read as different addresses; write it as a.b.c.d")
	}
	return ascii, nil
}

// numericName reports whether the last label is a number, decimal, octal or hexadecimal, so that the old address
// parser of C libraries takes the name for an address.
func numericName(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	last = strings.TrimPrefix(last, "0x")
	if last == "" {
		return true
	}
	for _, c := range []byte(last) {
		if (c < '0' || c > '9') && !(strings.HasSuffix(name, "0x"+last) && c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

// WhySpecial is what a person is told of an address that is not an ordinary public one.
const WhySpecial = "an address of this machine or network"

// Special reports whether the host, as it is written, is this machine or an address that is not an ordinary public one.
// A name that merely leads to such an address is not: that is found when it is resolved.
func (t Target) Special() bool {
	if addr, err := netip.ParseAddr(t.Host); err == nil {
		return Special(addr)
	}
	return t.Host == "localhost" || strings.HasSuffix(t.Host, ".localhost")
}

// Loopback reports whether the host, as it is written, is what every machine calls itself.
func (t Target) Loopback() bool {
	return t.Host == "localhost" || t.Host == "127.0.0.1" || t.Host == "::1"
}

// privateNames are domains whose names never lead to public addresses.
var privateNames = []string{".local", ".internal", ".lan", ".intranet", ".home.arpa", ".test"}

// Private reports whether the host, as it is written, can be nothing but this machine or one of its network: Special, or a
// name that has no meaning elsewhere.
func (t Target) Private() bool {
	return t.Special() || !t.address() && (!strings.Contains(t.Host, ".") ||
		slices.ContainsFunc(privateNames, func(end string) bool { return strings.HasSuffix(t.Host, end) }))
}

// address reports whether the target is named by its address.
func (t Target) address() bool {
	_, err := netip.ParseAddr(t.Host)
	return err == nil
}
