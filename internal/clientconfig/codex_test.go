package clientconfig

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCodexServers(t *testing.T) {
	servers, err := codexServers([]byte(`model = "x" # a comment
[mcp_servers.a]
command = 'run'
args = ["one", # first
  "two\u0021"]
env = { KEY = "v", "odd.key" = "w" }
startup_timeout_sec = 1_0
[mcp_servers."b c".env]
K = """
text"""
[mcp_servers]
d.url = "https://example.com"
note = "no server"
[[profiles]]
since = 1979-05-27
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a":{"args":["one","two!"],"command":"run","env":{"KEY":"v","odd.key":"w"},"startup_timeout_sec":10},` +
		`"b c":{"env":{"K":"text"}},"d":{"url":"https://example.com"}}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if _, err := codexServers([]byte("a = 1\n[b\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
}

// A table that cannot be edited line by line is refused, and not written twice.
func TestOddTablesAreNotEdited(t *testing.T) {
	for _, text := range []string{
		"mcp_servers = { tongs = { command = \"x\" } }\n",
		"mcp_servers.tongs.command = \"x\"\n",
		"[mcp_servers]\ntongs.command = \"x\"\n",
	} {
		if out, err := setTOML([]byte(text), []string{"tongs", "mcp"}); err == nil {
			t.Errorf("%s became %s", text, out)
		}
	}
}
