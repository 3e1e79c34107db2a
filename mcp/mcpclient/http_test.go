package mcpclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// remote is a desk whose server is reached by HTTP, through the handler that wrap makes of a real one.
func remote(t *testing.T, wrap func(http.Handler) http.Handler, edit func(*mcpclient.Options)) *desk {
	t.Helper()
	server := newServer()
	var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if wrap != nil {
		handler = wrap(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return newDesk(t, func(o *mcpclient.Options) {
		o.Servers = []mcpclient.Server{{Name: "srv", URL: web.URL + "/mcp", Tools: []string{"*"}}}
		if edit != nil {
			edit(o)
		}
	})
}

func TestRemoteServer(t *testing.T) {
	var seen http.Header
	d := remote(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = r.Header.Clone()
			h.ServeHTTP(w, r)
		})
	}, func(o *mcpclient.Options) {
		o.Servers[0].Headers = map[string]string{"Authorization": "Bearer ${SRV_TOKEN}"}
		o.Lookup = func(name string) (string, bool) { return "s3cret-value", name == "SRV_TOKEN" }
	})
	d.review(t)
	if res := d.ok(t, "echo", "hello"); res.Content != "hello" {
		t.Errorf("%s", res.Content)
	}
	if got := seen.Get("Authorization"); got != "Bearer s3cret-value" {
		t.Errorf("authorization %q", got)
	}
	u, _ := url.Parse(d.opt.Servers[0].URL)
	q := d.questions()
	if len(q) != 1 || len(q[0].Effects) != 1 || q[0].Effects[0].Kind != tongs.EffectNetwork || q[0].Effects[0].Host != u.Host {
		t.Fatalf("%+v", q)
	}
	if strings.Contains(fmt.Sprint(q), "s3cret") {
		t.Error("the question shows the credential")
	}
	// A rule about its host holds for it.
	d.rules = []tongs.Rule{{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: u.Host, Decision: tongs.Blocked, Layer: tongs.LayerUser}}
	d.fails(t, "echo", "x", tongs.CodeBlocked)
	d.rules = []tongs.Rule{{Tool: "srv__echo", Decision: tongs.PreApproved, Layer: tongs.LayerUser}}
	d.ok(t, "echo", "free")
	if q := d.questions(); len(q) != 0 {
		t.Errorf("%+v", q)
	}
	d.rules = nil
	d.fails(t, "huge", "a little", tongs.CodeNetworkError, "16777216 bytes")
	d.ok(t, "echo", "still there")
	if res := d.ok(t, "sample", ""); !strings.Contains(res.Content, "refused:") {
		t.Errorf("%s", res.Content)
	}
}

func TestRemoteRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		status   int
		location string
		want     string
	}{
		"credential": {http.StatusUnauthorized, "", "tongs mcp login srv"},
		"forbidden":  {http.StatusForbidden, "", "check the credential"},
		"elsewhere":  {http.StatusFound, "http://169.254.169.254/", "leads elsewhere"},
		"fault":      {http.StatusInternalServerError, "", "could not be reached"},
	} {
		d := remote(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.location != "" {
					w.Header().Set("Location", tt.location)
				}
				w.WriteHeader(tt.status)
			})
		}, nil)
		if _, err := d.set.Look(t.Context(), "srv"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServerCheck(t *testing.T) {
	for want, s := range map[string]mcpclient.Server{
		"server name":               {Name: "a__b", Command: "x"},
		"either a command or a url": {Name: "a"},
		"are for a command":         {Name: "a", URL: "https://a.test", Args: []string{"x"}},
		"are for a url":             {Name: "a", Command: "x", Headers: map[string]string{"A": "b"}},
		"zero byte":                 {Name: "a", Command: "x", Args: []string{"\x00"}},
		"not a URL":                 {Name: "a", URL: "ftp://a.test"},
		"holds a password":          {Name: "a", URL: "https://me:pw@a.test"},
		"unencrypted":               {Name: "a", URL: "http://a.test", Headers: map[string]string{"A": "b"}},
		"network:":                  {Name: "a", Command: "x", Network: []string{"0x7f.1"}},
		"host":                      {Name: "a", URL: "https://2130706433/"},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) || tongs.CodeOf(err) != tongs.CodeConfigError {
			t.Errorf("%q: %v", want, err)
		}
	}
	twice := mcpclient.Options{Servers: []mcpclient.Server{{Name: "a", Command: "x"}, {Name: "a", Command: "y"}}}
	if _, err := mcpclient.New(twice); err == nil {
		t.Error("two servers of one name")
	}
	off, err := mcpclient.New(mcpclient.Options{Servers: []mcpclient.Server{{Name: "a", Command: "x", Tools: []string{"t"}, Disabled: "nobody trusts it"}}})
	if err != nil {
		t.Fatal(err)
	}
	tools := off.Tools()
	if st := off.States()[0]; len(tools) != 0 || st.Status != "disabled" || st.Detail != "nobody trusts it" {
		t.Errorf("%v %+v", tools, st)
	}
	if _, err := off.Look(t.Context(), "a"); err == nil {
		t.Error("a disabled server was started")
	}
}
