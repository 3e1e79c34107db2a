package secrets

import (
	"encoding/json"
	"strings"
	"testing"
)

// Tokens are put together here so that no scanner takes this file for a leak.
var (
	aws    = "AKIA" + "IOSFODNN7EXAMPLE"
	github = "ghp_" + strings.Repeat("a1B2", 9)
	jwtTok = "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pemKey = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----"
)

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"aws", "key " + aws + " end", "key [redacted AWS access key] end"},
		{"github", "x=" + github + ".", "x=[redacted GitHub token]."},
		{"github fine-grained", "github_pat_" + strings.Repeat("A1_b", 10), "[redacted GitHub token]"},
		{"gitlab", "glpat-" + strings.Repeat("x", 20), "[redacted GitLab token]"},
		{"slack", "xoxb-" + "123456789012-abc", "[redacted Slack token]"},
		{"google", "AIza" + strings.Repeat("Sy-_1", 7), "[redacted Google API key]"},
		{"openai", "use sk-proj-" + strings.Repeat("a9", 20), "use [redacted API key]"},
		{"after a dash", "my-sk-" + strings.Repeat("a9", 20), "my-[redacted API key]"},
		{"anthropic", "sk-ant-api03-" + strings.Repeat("Zz9", 20) + " ok", "[redacted API key] ok"},
		{"stripe", "sk_live_" + strings.Repeat("4eC3", 6), "[redacted Stripe key]"},
		{"npm", "npm_" + strings.Repeat("abcd12", 6), "[redacted npm token]"},
		{"jwt", "t " + jwtTok, "t [redacted JWT]"},
		{"private key", "a\n" + pemKey + "\nb", "a\n[redacted private key]\nb"},
		{"private key without its end", "-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted private key]"},
		{"url", "git clone https://me:hunter2@example.com/x.git", "git clone https://[redacted URL credentials]@example.com/x.git"},
		{"url, token as user", "https://" + strings.Repeat("f0", 10) + "@example.com", "https://[redacted URL credentials]@example.com"},
		{"bearer", "-H 'Accept: x' -H 'X: Bearer abc123def456'", "-H 'Accept: x' -H 'X: Bearer [redacted bearer token]'"},
		{"authorization basic", "curl -H 'Authorization: Basic dXNlcjpwYXNz' u", "curl -H 'Authorization: [redacted secret]' u"},
		{"env assignment", "DB_PASSWORD=hunter2 make", "DB_PASSWORD=[redacted secret] make"},
		{"yaml", "password: hunter2\nuser: me", "password: [redacted secret]\nuser: me"},
		{"json in a string", `{"apiKey": "abcdefgh", "n": 1}`, `{"apiKey": "[redacted secret]", "n": 1}`},
		{"quoted with spaces", `secret = "two words here"`, `secret = "[redacted secret]"`},
		{"flag", "mysql --password hunter2 -u me", "mysql --password [redacted secret] -u me"},
		{"flag with =", "mysql --password=hunter2", "mysql --password=[redacted secret]"},

		{"glued to other text", "000" + aws + " x" + github, "000[redacted AWS access key] x[redacted GitHub token]"},
		{"after an escape", `a\nsk-proj-` + strings.Repeat("a9", 20) + `\n`, `a\n[redacted API key]\n`},
		{"jwt after an escape", `\t` + jwtTok, `\t[redacted JWT]`},

		{"clean", "go test ./... -run TestX", "go test ./... -run TestX"},
		{"reference", "PASSWORD=$PASSWORD TOKEN=${T}", "PASSWORD=$PASSWORD TOKEN=${T}"},
		{"words", "sk-learn-is-a-library-for-people task-based risk-averse", "sk-learn-is-a-library-for-people task-based risk-averse"},
		{"ssh url", "ssh://git@example.com/x", "ssh://git@example.com/x"},
		{"max_tokens", "max_tokens=4096", "max_tokens=4096"},
		{"bearer of news", "the bearer of bad news", "the bearer of bad news"},
		{"public key", "-----BEGIN PUBLIC KEY-----\nMIIB", "-----BEGIN PUBLIC KEY-----\nMIIB"},
		{"invalid UTF-8", "\xff\xfe=\xff", "\xff\xfe=\xff"},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Redactor{}
			got := r.Text(tt.in)
			if got != tt.want {
				t.Fatalf("Text(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
			if again := r.Text(got); again != got {
				t.Errorf("not stable: %q became %q", got, again)
			}
		})
	}
}

func TestSecretName(t *testing.T) {
	for _, name := range []string{
		"password", "Password", "DB_PASSWORD", "passwd", "client_secret", "clientSecret", "token", "accessToken",
		"GITHUB_TOKEN", "api_key", "API-KEY", "x-api-key", "Authorization", "aws.secret.access.key", "privateKey", "Cookie",
		"credentials", strings.Repeat("x", 200) + "_password",
	} {
		if !SecretName(name) {
			t.Errorf("%q should be a secret name", name)
		}
	}
	for _, name := range []string{"", "path", "tokens", "max_tokens", "tokenizer", "PWD", "key", "author", "content", "pass"} {
		if SecretName(name) {
			t.Errorf("%q should not be a secret name", name)
		}
	}
}

func TestEnvironmentValues(t *testing.T) {
	r := New([]string{"DB_PASSWORD=correct horse", "HOME=/home/somebody", "SHORT_SECRET=abc", "X=" + github, "noequals"})
	got := r.Text("say correct horse twice: correct horse in /home/somebody abc")
	want := "say [redacted environment secret] twice: [redacted environment secret] in /home/somebody abc"
	if got != want {
		t.Errorf("got %q", got)
	}
	if got := r.Text("password=correct horse"); strings.Contains(got, "horse") {
		t.Errorf("overlapping matches leave a part: %q", got)
	}
}

func TestArgv(t *testing.T) {
	var r Redactor
	argv := []string{"curl", "--token", "abc", "-H", "Authorization: Bearer abc1234567", "PASSWORD=hunter2"}
	got := strings.Join(r.Argv(argv), "|")
	want := "curl|--token|[redacted secret]|-H|Authorization: [redacted secret]|PASSWORD=[redacted secret]"
	if got != want {
		t.Errorf("got %s", got)
	}
	if argv[2] != "abc" {
		t.Error("the argument was changed in place")
	}
	if again := strings.Join(r.Argv(r.Argv(argv)), "|"); again != want {
		t.Errorf("not stable: %s", again)
	}
}

func TestBoundedRedacts(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"clean", `{"path": "a.go", "n": 1.50, "ok":true}`, `{"path": "a.go", "n": 1.50, "ok":true}`},
		{"key name", `{"password":"x","pin":{"token":12345}}`, `{"password":"[redacted secret]","pin":{"token":"[redacted secret]"}}`},
		{"below a key", `{"credentials":{"a":["b",1,true,null]}}`, `{"credentials":{"a":["[redacted secret]","[redacted secret]",true,null]}}`},
		{"in a string", `{"command":"curl -H \"Authorization: Bearer abc123456\""}`, `{"command":"curl -H \"Authorization: [redacted secret]\""}`},
		{"escaped", `{"c":"\u0041KIA` + aws[4:] + `"}`, `{"c":"[redacted AWS access key]"}`},
		{"escaped key", `{"passwor\u0064":"x"}`, `{"passwor\u0064":"[redacted secret]"}`},
		{"secret as key", `{"` + aws + `":1}`, `{"[redacted AWS access key]":1}`},
		{"argv", `["x","--password","hunter2","y"]`, `["x","--password","[redacted secret]","y"]`},
		{"nested arrays", `[[],{},[{"a":[]}]]`, `[[],{},[{"a":[]}]]`},
		{"html stays", `{"c":"<b>&` + aws + `"}`, `{"c":"<b>&[redacted AWS access key]"}`},
		{"scalar", `"` + aws + `"`, `"[redacted AWS access key]"`},
		{"not JSON", `{"password": hunter2`, `"{\"password\": [redacted secret]"`},
		{"invalid UTF-8", "{\"a\":\xff", `"{\"a\":` + "\uFFFD" + `"`},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := (*Redactor)(nil).Bounded(json.RawMessage(tt.in))
			if string(got) != tt.want {
				t.Fatalf("Bounded(%s)\n got %s\nwant %s", tt.in, got, tt.want)
			}
			if len(got) > 0 && !json.Valid(got) {
				t.Errorf("not valid JSON: %s", got)
			}
			if again := (*Redactor)(nil).Bounded(got); string(again) != string(got) {
				t.Errorf("not stable: %s became %s", got, again)
			}
		})
	}
}

func TestBounded(t *testing.T) {
	var r Redactor
	long := strings.Repeat("é", 2000) + github
	raw, err := json.Marshal(map[string]any{"path": "a", "content": long})
	if err != nil {
		t.Fatal(err)
	}
	got := r.Bounded(raw)
	var args struct {
		Content struct {
			SHA256 string
			Bytes  int
			Head   string
		}
	}
	if err := json.Unmarshal(got, &args); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if c := args.Content; len(c.SHA256) != 64 || c.Bytes != len(long) || c.Head != strings.Repeat("é", 100) {
		t.Errorf("got %+v", c)
	}
	many, err := json.Marshal(strings.Split(strings.Repeat("word ", 40_000), " "))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Bounded(many); len(got) > maxString || !strings.Contains(string(got), `"sha256"`) {
		t.Errorf("%d bytes of arguments became %d", len(many), len(got))
	}
	if got := r.Bounded([]byte(strings.Repeat("{", 100_000))); len(got) > maxString || !json.Valid(got) {
		t.Errorf("deep nesting became %d bytes", len(got))
	}
	straddling := strings.Repeat("x", maxHead-4) + " " + github + strings.Repeat(" y", maxString)
	raw, _ = json.Marshal(straddling)
	if got := string(r.Bounded(raw)); strings.Contains(got, "ghp") {
		t.Errorf("the head holds a part of a token: %s", got)
	}
}

// hostile are texts that a careless matcher would look at again and again.
var hostile = map[string]string{
	"sk":       strings.Repeat("sk-", 350_000),
	"eyJ":      strings.Repeat("eyJaaaaaaaaaaa-", 70_000),
	"eyJ dots": strings.Repeat("eyJaaaaaaaaaaa.", 70_000),
	"SG":       strings.Repeat("SG.", 350_000),
	"flags":    strings.Repeat("--a", 350_000),
	"dashes":   strings.Repeat("-", 1<<20),
	"equals":   strings.Repeat("=", 1<<20),
	"colons":   strings.Repeat("a:", 1<<19),
	"urls":     strings.Repeat("://", 350_000),
	"begin":    strings.Repeat("-----BEGIN ", 95_000),
	"quotes":   strings.Repeat(`password="`, 100_000),
	"bearer":   strings.Repeat("bearer ", 150_000),
	"programs": strings.Repeat("curl ", 200_000),
	"quoted":   strings.Repeat(`curl "`, 170_000),
	"escaped":  strings.Repeat(`curl \\\"'`, 100_000),
	"feeders":  strings.Repeat("echo | ", 150_000),
	"lists":    strings.Repeat(`["curl","-u",`, 80_000),
	"marks":    strings.Repeat("[redacted ", 100_000),
	"names":    strings.Repeat(strings.Repeat("a", 64)+"=", 16_000),
}

func TestHostileTextIsLinear(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) { // a quadratic matcher does not come back
			(&Redactor{}).Text(text)
			(&Redactor{}).Bounded(quote(text))
		})
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"password":"x","a":[1,"` + aws + `"]}`))
	f.Add([]byte("\"\\ud800\""))
	f.Add([]byte(`{"a":1}x`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := New([]string{"SECRET=aaaaaaaa"})
		got := r.Bounded(raw)
		if len(raw) > 0 && !json.Valid(got) {
			t.Fatalf("%q became %q", raw, got)
		}
		if strings.Contains(string(got), aws) {
			t.Fatalf("%q kept a key", raw)
		}
	})
}

// Whatever stands before it, the secret of a command is found, and what is found is in order.
func FuzzCommands(f *testing.F) {
	for _, hit := range hits[:20] {
		f.Add(hit)
	}
	f.Add(`bash -c "mysql -p'x' \\\"` + "`$(curl -u a:b")
	f.Fuzz(func(t *testing.T, before string) {
		text := before + "\ncurl -u me:hUnter2 x\n" + before
		at := 0
		for _, m := range Find(text) {
			if m.Start < at || m.End <= m.Start || m.End > len(text) {
				t.Fatalf("%q: %+v after %d", text, m, at)
			}
			at = m.End
		}
		if !strings.Contains(before, "hUnter2") && strings.Contains((*Redactor)(nil).Text(text), "hUnter2") {
			t.Fatalf("%q became %q", text, (*Redactor)(nil).Text(text))
		}
	})
}

func BenchmarkRedactSmall(b *testing.B) {
	r := New([]string{"A_SECRET=0123456789abcdef", "B_TOKEN=fedcba9876543210"})
	raw := json.RawMessage(`{"path":"internal/secrets/secrets.go","offset":120,"limit":200,"encoding":"utf-8"}`)
	b.ReportAllocs()
	for b.Loop() {
		r.Bounded(raw)
	}
}

func BenchmarkFind1MB(b *testing.B) {
	text := strings.Repeat("func (d *Desk) Ask(ctx context.Context, q Question) (Question, error) {\n", 14_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Find(text)
	}
}
