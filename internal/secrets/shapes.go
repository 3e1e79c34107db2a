package secrets

import "strings"

// class is a set of bytes that a token is made of.
type class uint8

const (
	upper  class = 1 << iota // A-Z 0-9
	alnum                    // A-Z a-z 0-9
	word                     // alnum _
	dashed                   // word -
	base64                   // dashed . + / = ~
)

var classes = func() (table [256]class) {
	for c := range 256 {
		b := byte(c)
		digit, big, small := '0' <= b && b <= '9', 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z'
		if digit || big {
			table[c] |= upper
		}
		if digit || big || small {
			table[c] |= alnum | word | dashed | base64
		}
		if b == '_' {
			table[c] |= word | dashed | base64
		}
		if b == '-' {
			table[c] |= dashed | base64
		}
		if strings.IndexByte(".+/=~", b) >= 0 {
			table[c] |= base64
		}
	}
	return table
}()

// shape is a token that is known by how it starts.
type shape struct {
	prefix string
	kind   string
	of     class
	min    int
	// digit marks a prefix that ends words too: it must start one, and at least one digit must follow.
	digit bool
}

var shapes = [...]shape{
	{"AKIA", "AWS access key", upper, 16, false},
	{"ASIA", "AWS access key", upper, 16, false},
	{"ABIA", "AWS access key", upper, 16, false},
	{"ACCA", "AWS access key", upper, 16, false},
	{"AIza", "Google API key", dashed, 30, false},
	{"ya29.", "Google access token", dashed, 20, false},
	{"GOCSPX-", "Google client secret", dashed, 20, false},
	{"ghp_", "GitHub token", alnum, 20, false},
	{"gho_", "GitHub token", alnum, 20, false},
	{"ghu_", "GitHub token", alnum, 20, false},
	{"ghs_", "GitHub token", alnum, 20, false},
	{"ghr_", "GitHub token", alnum, 20, false},
	{"github_pat_", "GitHub token", word, 20, false},
	{"glpat-", "GitLab token", dashed, 16, false},
	{"gldt-", "GitLab token", dashed, 16, false},
	{"glptt-", "GitLab token", dashed, 16, false},
	{"glrt-", "GitLab token", dashed, 16, false},
	{"xoxa-", "Slack token", dashed, 10, false},
	{"xoxb-", "Slack token", dashed, 10, false},
	{"xoxe-", "Slack token", dashed, 10, false},
	{"xoxo-", "Slack token", dashed, 10, false},
	{"xoxp-", "Slack token", dashed, 10, false},
	{"xoxr-", "Slack token", dashed, 10, false},
	{"xoxs-", "Slack token", dashed, 10, false},
	{"xapp-", "Slack token", dashed, 10, false},
	{"sk-", "API key", dashed, 16, true},
	{"sk_live_", "Stripe key", alnum, 10, false},
	{"sk_test_", "Stripe key", alnum, 10, false},
	{"rk_live_", "Stripe key", alnum, 10, false},
	{"rk_test_", "Stripe key", alnum, 10, false},
	{"whsec_", "Stripe key", alnum, 16, false},
	{"npm_", "npm token", alnum, 30, false},
	{"pypi-", "PyPI token", dashed, 40, false},
	{"hf_", "Hugging Face token", alnum, 30, false},
	{"dckr_pat_", "Docker token", dashed, 20, false},
	{"dop_v1_", "DigitalOcean token", alnum, 40, false},
	{"SG.", "SendGrid key", base64, 40, true},
}

// byFirst lists the shapes that start with a byte.
var byFirst = func() (table [256][]shape) {
	for _, s := range shapes {
		table[s.prefix[0]] = append(table[s.prefix[0]], s)
	}
	return table
}()

// triggers are the bytes at which a match can be decided.
var triggers = func() (table [256]bool) {
	for c := range table {
		table[c] = len(byFirst[c]) > 0
	}
	for _, c := range []byte("eBb-:=") {
		table[c] = true
	}
	return table
}()

// matchAt returns the secret that is decided at text[i], which is a trigger: it starts there or later. Where there is
// none, End is 0, or, with an empty Kind, the end of what was looked at and need not be looked at again.
func matchAt(text string, i int) Match {
	switch c := text[i]; {
	case c == ':' && strings.HasPrefix(text[i:], "://"):
		return userinfo(text, i+3)
	case c == ':' || c == '=':
		return assignment(text, i)
	case c == '-':
		return dash(text, i)
	}
	if i+1 == len(text) {
		return Match{}
	}
	candidates := byFirst[text[i]]
	for k := range candidates {
		s := &candidates[k]
		if s.prefix[1] != text[i+1] || s.digit && !startsWord(text, i) {
			continue
		}
		if m := s.at(text, i); m.End > 0 {
			return m
		}
	}
	if c := text[i]; c != 'e' && c != 'b' && c != 'B' || !startsWord(text, i) {
		return Match{}
	}
	switch text[i] {
	case 'e':
		return jwt(text, i)
	case 'B', 'b':
		return bearer(text, i)
	}
	return Match{}
}

// startsWord reports whether a word starts at i: what is before it is no part of a word, or is an escape in a text that
// is quoted inside another (\\n).
func startsWord(text string, i int) bool {
	if i == 0 || classes[text[i-1]]&word == 0 {
		return true
	}
	return i > 1 && text[i-2] == '\\' && strings.IndexByte("nrt", text[i-1]) >= 0
}

func (s *shape) at(text string, i int) Match {
	if !strings.HasPrefix(text[i:], s.prefix) {
		return Match{}
	}
	start := i + len(s.prefix)
	end := run(text, start, s.of)
	switch {
	case end-start < s.min:
		return Match{}
	case s.digit && !strings.ContainsAny(text[start:end], "0123456789"):
		return Match{Start: i, End: end}
	}
	return Match{i, end, s.kind}
}

// run returns the end of the bytes of the class that start at i.
func run(text string, i int, of class) int {
	for i < len(text) && classes[text[i]]&of != 0 {
		i++
	}
	return i
}

func jwt(text string, i int) Match {
	if !strings.HasPrefix(text[i:], "eyJ") || i > 0 && text[i-1] == '-' {
		return Match{}
	}
	end := i
	for part := range 3 {
		if part > 0 {
			if end >= len(text) || text[end] != '.' {
				return Match{}
			}
			end++
		}
		start := end
		end = run(text, start, dashed)
		if part < 2 && end-start < 10 {
			return Match{}
		}
	}
	return Match{i, end, "JWT"}
}

func bearer(text string, i int) Match {
	const prefix = "bearer "
	if len(text)-i < len(prefix) || !strings.EqualFold(text[i:i+len(prefix)], prefix) {
		return Match{}
	}
	start := i + len(prefix)
	end := run(text, start, base64)
	token := text[start:end]
	if len(token) < 8 || len(token) < 24 && !strings.ContainsAny(token, "0123456789") {
		return Match{}
	}
	return Match{start, end, "bearer token"}
}

// userinfo finds the user:password of a URL whose authority starts at i.
func userinfo(text string, i int) Match {
	end := i
	for end < len(text) && strings.IndexByte("/?# \t\r\n\"'`<>\\", text[end]) < 0 {
		end++
	}
	at := strings.LastIndexByte(text[i:end], '@')
	if at <= 0 {
		return Match{}
	}
	user := text[i : i+at]
	if strings.HasPrefix(user, markPrefix) || !strings.Contains(user, ":") && len(user) < 16 {
		return Match{}
	}
	return Match{i, i + at, "URL credentials"}
}

// dash finds a private key block and the value of a flag ("--password VALUE") at a dash.
func dash(text string, i int) Match {
	const begin, end, tail = "-----BEGIN ", "-----END ", "-----"
	if strings.HasPrefix(text[i:], begin) {
		title := text[i+len(begin) : min(len(text), i+len(begin)+64)]
		if at := strings.Index(title, "PRIVATE KEY"); at < 0 || strings.ContainsAny(title[:at], "\n-") {
			return Match{}
		}
		rest := strings.Index(text[i:], end)
		if rest < 0 {
			return Match{i, len(text), "private key"}
		}
		stop := i + rest + len(end)
		if last := strings.Index(text[stop:min(len(text), stop+64)], tail); last >= 0 {
			stop += last + len(tail)
		}
		return Match{i, stop, "private key"}
	}
	if i > 0 && nameByte(text[i-1]) {
		return Match{}
	}
	name := run(text[:min(len(text), i+maxName)], i+1, dashed)
	if name >= len(text) || text[name] != ' ' || !secretFlag(text[i:name]) {
		return Match{}
	}
	return valueAt(text, name+1, false, 1)
}

// maxName bounds how far back from a sign the name of a value is looked for.
const maxName = 64

// assignment finds the value of a telling name around the sign at i: "password = x", `"api_key": "x"`, "Token: x".
func assignment(text string, i int) Match {
	end := i
	for end > 0 && i-end < 4 && strings.IndexByte(" \t\"'`\\]", text[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && end-start < maxName && (classes[text[start-1]]&dashed != 0 || text[start-1] == '.') {
		start--
	}
	if start == end || !SecretName(text[start:end]) {
		return Match{}
	}
	value := i + 1
	for value < len(text) && value-i < 8 && strings.IndexByte("=>: \t", text[value]) >= 0 {
		value++
	}
	// The value of a header is the rest of the line: a scheme and the credential.
	header := text[i] == ':' && (strings.EqualFold(text[start:end], "authorization") ||
		strings.EqualFold(text[start:end], "proxy-authorization") || strings.EqualFold(text[start:end], "cookie"))
	return valueAt(text, value, header, 4)
}

// valueAt returns the value that starts at i: quoted, to the end of the line where line is set, or one word. A
// reference to a variable and a word that stands for nothing are no secrets.
func valueAt(text string, i int, line bool, least int) Match {
	if i >= len(text) {
		return Match{}
	}
	stops := " \t\r\n\"'`,;&|)}]<>\\"
	switch quote := text[i]; {
	case quote == '"' || quote == '\'' || quote == '`':
		i++
		stops = text[i-1:i] + "\r\n"
	case line:
		stops = "\r\n\"'`"
	}
	if i >= len(text) || strings.IndexByte("$-{<%", text[i]) >= 0 || strings.HasPrefix(text[i:], markPrefix) {
		return Match{}
	}
	end := i
	for end < len(text) && strings.IndexByte(stops, text[end]) < 0 {
		end++
	}
	switch value := text[i:end]; strings.ToLower(value[:min(len(value), 16)]) {
	case "true", "false", "null", "none", "nil", "undefined", "string", "required", "optional", "bearer":
		return Match{}
	}
	if end-i < least {
		return Match{}
	}
	return Match{i, end, "secret"}
}
