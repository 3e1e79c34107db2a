package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// Server is one MCP server as a person configured it: a command to start, or a URL.
type Server struct {
	Name    string
	Command string
	Args    []string
	// Env are further variables of the command, Headers further headers of requests. ${VAR} in their values is the
	// variable of this process, read when the server is started.
	Env     map[string]string
	URL     string
	Headers map[string]string
	// Tools are the names to expose, as the server knows them. "*" alone exposes all that were reviewed.
	Tools []string
	// Network are the hosts that the command may reach.
	Network []string
	// Unconfined runs the command outside the sandbox: a person's explicit wish.
	Unconfined bool
	// Unpinned runs the command whatever it is by now: a person's explicit wish, for a server that is being worked on.
	Unpinned bool
	// Timeout bounds each call; zero is [DefaultTimeout].
	Timeout time.Duration
	// Origin is where it is configured, for people.
	Origin string
	// Label is what messages call the server; empty is "the MCP server NAME". Review is the command by which a person looks at
	// it again; empty is that for MCP servers. They are for packages that start servers of their own.
	Label, Review string
	// Disabled says why the server may not be used, such as that nobody trusts the file that names it. Empty means
	// that it may.
	Disabled string
}

// DefaultTimeout bounds a call of a server that has no bound of its own.
const DefaultTimeout = 120 * time.Second

// packageName is a name of the registry of npm.
var packageName = regexp.MustCompile(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-zA-Z0-9._~-]*$`)

var serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// Check reports what is wrong with the server.
func (s *Server) Check() error {
	switch {
	case !serverName.MatchString(s.Name) || strings.Contains(s.Name, "__") || strings.HasSuffix(s.Name, "_"):
		return configError("MCP server name %q: want a letter, then at most 31 letters, digits, _ and -, without __ and no _ at its end", s.Name)
	case (s.Command == "") == (s.URL == ""):
		return configError("MCP server %s needs either a command or a url", s.Name)
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0 || len(s.Network) > 0 || s.Unconfined):
		return configError("MCP server %s has a url; args, env, network and sandbox are for a command", s.Name)
	case s.URL == "" && len(s.Headers) > 0:
		return configError("MCP server %s has a command; headers are for a url", s.Name)
	}
	for _, list := range [][]string{{s.Command}, s.Args} {
		for _, word := range list {
			if strings.IndexByte(word, 0) >= 0 {
				return configError("MCP server %s: %q holds a zero byte", s.Name, word)
			}
		}
	}
	for _, host := range s.Network {
		if _, err := network.ParseTarget(host, 443); err != nil {
			return configError("MCP server %s: network: %w", s.Name, err)
		}
	}
	if s.URL != "" {
		if _, err := s.target(); err != nil {
			return err
		}
	}
	return nil
}

func configError(format string, args ...any) error {
	return tongs.Errorf(tongs.CodeConfigError, format, args...)
}

// target is where the URL leads. Credentials are sent only where nobody on the way can read them.
func (s *Server) target() (network.Target, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return network.Target{}, configError("MCP server %s: %q is not a URL that starts with https:// or http://", s.Name, s.URL)
	}
	if u.User != nil {
		return network.Target{}, configError("MCP server %s: the URL holds a password; put it into a header, as ${VAR}", s.Name)
	}
	port := uint16(443)
	if u.Scheme == "http" {
		port = 80
	}
	t, err := network.ParseTarget(u.Host, port)
	if err != nil {
		return t, configError("MCP server %s: %w", s.Name, err)
	}
	if u.Scheme == "http" && len(s.Headers) > 0 && !loopback(t.Host) {
		return t, configError("MCP server %s: headers would be sent to %s unencrypted; use https", s.Name, t.Host)
	}
	return t, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Local reports whether the server is a command.
func (s *Server) Local() bool { return s.Command != "" }

// argv is the command as it is decided on and run.
func (s *Server) argv() []string { return append([]string{s.Command}, s.Args...) }

// Where tells what the server is, for people: its command or its URL.
func (s *Server) Where() string {
	if s.Local() {
		return strings.Join(s.argv(), " ")
	}
	return s.URL
}

// called is what messages call the server.
func (s *Server) called() string {
	if s.Label != "" {
		return s.Label
	}
	return "the MCP server " + s.Name
}

func (s *Server) review() string {
	if s.Review != "" {
		return s.Review
	}
	return "tongs mcp review " + s.Name
}

// exposes reports whether a person listed the tool.
func (s *Server) exposes(tool string) bool {
	return slices.Contains(s.Tools, tool) || s.all()
}

func (s *Server) all() bool { return len(s.Tools) == 1 && s.Tools[0] == "*" }

// identity is the digest of what the server is: what a person approved of one is not approved of another that has
// only its name. Values are as configured, so that no secret is in it.
func (s *Server) identity() string {
	data, err := json.Marshal(struct {
		Name, Command  string
		Args           []string
		Env            map[string]string
		URL            string
		Headers        map[string]string
		Network        []string
		OutsideSandbox bool
		Unpinned       bool `json:",omitempty"`
	}{s.Name, s.Command, s.Args, s.Env, s.URL, s.Headers, s.Network, s.Unconfined, s.Unpinned})
	if err != nil { // strings and maps of strings always encode
		return ""
	}
	return digest(data)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${VAR} by what lookup knows. A variable that is not set is an error: an empty credential would be
// taken for one.
func expand(server, key, value string, lookup func(string) (string, bool)) (string, error) {
	var missing string
	out := variable.ReplaceAllStringFunc(value, func(m string) string {
		name := m[2 : len(m)-1]
		v, ok := lookup(name)
		if !ok && missing == "" {
			missing = name
		}
		return v
	})
	if missing != "" {
		return "", configError("MCP server %s: %s needs the environment variable %s, which is not set", server, key, missing)
	}
	return out, nil
}

// environment is what the command is given, as KEY=value.
func (s *Server) environment(lookup func(string) (string, bool)) ([]string, error) {
	var env []string
	for key, value := range s.Env {
		v, err := expand(s.Name, "env."+key, value, lookup)
		if err != nil {
			return nil, err
		}
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.IndexByte(v, 0) >= 0 {
			return nil, configError("MCP server %s: env: %q is no name of a variable, or its value holds a zero byte", s.Name, key)
		}
		env = append(env, key+"="+v)
	}
	slices.Sort(env)
	return env, nil
}

// String names the server and what it is.
func (s *Server) String() string { return fmt.Sprintf("%s (%s)", s.Name, s.Where()) }
