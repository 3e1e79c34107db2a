package oauth

import (
	"net/url"
	"testing"

	"github.com/tongs-ai/tongs/network"
)

func TestNamed(t *testing.T) {
	for _, tt := range []struct {
		resource, to string
		allowed      []string
		want         bool
	}{
		{"https://mcp.test/mcp", "mcp.test:443", nil, true},
		{"https://mcp.test/mcp", "MCP.test.", nil, true},
		{"https://mcp.test/mcp", "mcp.test:6379", nil, false}, // who owns the name says what it means
		{"https://mcp.test/mcp", "auth.mcp.test:443", nil, false},
		{"https://mcp.test/mcp", "127.0.0.1:443", nil, false},
		{"https://mcp.test:8443/mcp", "mcp.test:443", nil, false},
		{"https://10.0.0.5/mcp", "10.0.0.5:8443", nil, true},
		{"https://10.0.0.5/mcp", "10.0.0.6:443", nil, false},
		{"http://localhost:3000/mcp", "localhost:4000", nil, true},
		{"http://localhost:3000/mcp", "127.0.0.1:3000", nil, false},
		{"https://mcp.test/mcp", "sso.corp.test:443", []string{"sso.corp.test"}, true},
		{"https://mcp.test/mcp", "sso.corp.test:8443", []string{"sso.corp.test"}, false},
		{"https://mcp.test/mcp", "sso.corp.test:8443", []string{"bad host", "sso.corp.test:8443"}, true},
	} {
		to, err := network.ParseTarget(tt.to, 443)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Resource{URL: tt.resource}).named(to, tt.allowed); got != tt.want {
			t.Errorf("%s to %s with %v: %v", tt.resource, tt.to, tt.allowed, got)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		resource, at string
		want         bool
	}{
		{"https://a.test/mcp", "https://a.test/mcp", true},
		{"https://a.test/mcp/", "https://a.test/mcp", true},
		{"https://a.test", "https://a.test/mcp", true},
		{"https://a.test/", "https://a.test/mcp/v1", true},
		{"https://a.test/mcp", "https://a.test/mcp/v1", true},
		{"https://a.test/mcp", "https://a.test/mcpx", false},
		{"https://a.test/mcp/v1", "https://a.test/mcp", false},
		{"http://a.test/mcp", "https://a.test/mcp", false},
		{"https://a.test:444/mcp", "https://a.test/mcp", false},
		{"https://b.test/mcp", "https://a.test/mcp", false},
		{"https://a.test/mcp#x", "https://a.test/mcp", false},
		{"https://x@a.test/mcp", "https://a.test/mcp", false},
		{"https://a.test/mcp?tenant=1", "https://a.test/mcp", false},
		{"https://a.test/mcp?tenant=1", "https://a.test/mcp?tenant=1", true},
		{"https://a.test/x/..", "https://a.test/mcp", false},
		{"https://a.test/x%2f..", "https://a.test/mcp", false},
		{"", "https://a.test/mcp", false},
	} {
		u, err := url.Parse(tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := covers(tt.resource, u); got != tt.want {
			t.Errorf("%q at %q: %v", tt.resource, tt.at, got)
		}
	}
}

func TestKin(t *testing.T) {
	for _, tt := range []struct {
		issuer, page string
		want         bool
	}{
		{"https://auth.test", "https://auth.test/authorize", true},
		{"https://auth.test/tenant", "https://auth.test:8443/authorize", true},
		{"https://cf.auth.example", "https://auth.example/authorize", true},
		{"https://auth.example", "https://login.auth.example/authorize", true},
		{"https://evil.example", "https://auth.example/authorize", false},
		{"https://evilauth.example", "https://auth.example/authorize", false},
		{"https://evil.example", "https://example/authorize", false},
		{"http://127.0.0.1:1", "http://127.0.0.1:2/authorize", false},
		{"http://localhost:1", "http://localhost:1/authorize", true},
	} {
		if got := ofIssuer(tt.issuer, tt.page); got != tt.want {
			t.Errorf("%s and %s: %v", tt.issuer, tt.page, got)
		}
	}
}
