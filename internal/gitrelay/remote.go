package gitrelay

import (
	"net/url"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// Remote is a repository on another machine, in the one form that is decided, shown and used.
type Remote struct {
	// Scheme is https, http or ssh.
	Scheme string
	// User is who logs in over ssh.
	User   string
	Target network.Target
	// Path is as the server is sent it: escaped in a URL, as it is over ssh.
	Path string
	// written is user, host and port of an ssh remote as git has them: the user's settings may make something else of it.
	written string
}

// ports are the schemes with their own port.
var ports = map[string]uint16{"https": 443, "http": 80, "ssh": 22}

// String is the address in full, as a person reads it. Characters that could pass for others are escaped, and international
// hosts in their ASCII form.
func (r Remote) String() string {
	host := r.Target.String()
	if r.Target.Port == ports[r.Scheme] {
		host = strings.TrimSuffix(host, host[strings.LastIndexByte(host, ':'):])
	}
	if r.User != "" {
		host = plain(r.User) + "@" + host
	}
	return r.Scheme + "://" + host + "/" + strings.TrimPrefix(plain(r.Path), "/")
}

// url is the address of an HTTP remote, which is exactly what is requested.
func (r Remote) url() *url.URL {
	host := r.Target.String()
	if r.Target.Port == ports[r.Scheme] {
		host = strings.TrimSuffix(host, host[strings.LastIndexByte(host, ':'):])
	}
	u := &url.URL{Scheme: r.Scheme, Host: host, RawPath: r.Path}
	u.Path, _ = url.PathUnescape(r.Path)
	return u
}

// same is what two addresses of one repository have in common. With and without .git at its end a path may be two repositories:
// whether a server takes them for one is not known.
func (r Remote) same() string {
	path := strings.TrimRight(r.Path, "/")
	if r.Scheme == "ssh" {
		return "ssh " + r.written + " " + path
	}
	return r.Scheme + " " + r.Target.String() + " " + path
}

// plain shows text with everything escaped that is not a printable ASCII character.
func plain(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 0x20 && c < 0x7f && c != '\\' {
			b.WriteByte(c)
		} else {
			const hex = "0123456789abcdef"
			b.WriteString(`\x` + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return b.String()
}

// httpPath checks the path of an HTTP remote. Servers read dot segments, doubled and escaped slashes in their own ways, so that
// a path with them might not lead to what a person was shown.
func httpPath(escaped string) error {
	bad := tongs.Errorf(tongs.CodeNetworkError, "the address of the remote has the path %q, which servers read differently", plain(escaped))
	if !strings.HasPrefix(escaped, "/") || len(escaped) > maxPath {
		return bad
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(escaped[1:], "/"), "/") {
		name, err := url.PathUnescape(segment)
		if err != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\") || strings.ContainsFunc(name, control) {
			return bad
		}
	}
	return nil
}

const maxPath = 4096

func control(r rune) bool { return r < 0x20 || r == 0x7f }

// parseRemote reads an address as git does: a URL, or host:path for ssh. It is for those in a configuration.
func parseRemote(address string) (r Remote, ok bool) {
	scheme, rest, isURL := strings.Cut(address, "://")
	if !isURL {
		host, path, ok := strings.Cut(address, ":")
		if !ok || strings.Contains(host, "/") || strings.HasPrefix(path, ":") {
			return Remote{}, false
		}
		return Remote{Scheme: "ssh", written: strings.ToLower(host) + ":22", Path: path}, true
	}
	authority, path, _ := strings.Cut(rest, "/")
	r = Remote{Scheme: strings.ToLower(scheme), Path: "/" + path}
	switch r.Scheme {
	case "ssh":
		if strings.HasPrefix(path, "~") {
			r.Path = path // git leaves out the slash
		}
		if r.written = strings.ToLower(authority); !strings.Contains(authority[strings.LastIndexByte(authority, '@')+1:], ":") {
			r.written += ":22"
		}
		return r, true
	case "https", "http":
		var err error
		r.Target, err = network.ParseTarget(authority[strings.LastIndexByte(authority, '@')+1:], ports[r.Scheme])
		return r, err == nil
	}
	return Remote{}, false
}
