// Package secrets finds credentials in text and takes them out of what is kept: well-known token shapes, values that
// stand beside a telling name ("password=..."), and the exact values of secret environment variables. It is made for
// logs: it errs on the side of taking out too much, and its cost is linear in the text.
package secrets

import (
	"slices"
	"strings"
)

// Match is one credential in a text: text[Start:End].
type Match struct {
	Start, End int
	// Kind says what it looks like, for the mark left in its place: "GitHub token".
	Kind string
}

// Redactor finds and removes secrets. Its zero value and nil know the shapes and the names; New adds values. It is
// safe for concurrent use.
type Redactor struct {
	values []string
}

// minValue is the length below which the value of an environment variable is too common to search for.
const minValue = 8

// New returns a Redactor that also finds the values of those of the given environment variables (KEY=value) whose
// name or value looks secret. Nothing is read from the process's own environment.
func New(environ []string) *Redactor {
	r := &Redactor{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || len(value) < minValue || slices.Contains(r.values, value) {
			continue
		}
		if SecretName(name) || len(Find(value)) > 0 {
			r.values = append(r.values, value)
		}
	}
	// Longer values first, so that one that contains another is replaced whole.
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
	return r
}

// Find returns the secrets in text by shape and name, in order and without overlap.
func Find(text string) []Match { return (*Redactor)(nil).Find(text) }

// Find returns the secrets in text, in order and without overlap.
func (r *Redactor) Find(text string) []Match {
	var found []Match
	for i := 0; i < len(text); {
		if !triggers[text[i]] {
			i++
			continue
		}
		m := matchAt(text, i)
		if m.End <= i {
			i++
			continue
		}
		if m.Kind != "" {
			found = append(found, m)
		}
		i = m.End
	}
	shaped := len(found)
	found = append(found, commands(text)...)
	if r != nil {
		found = r.addValues(text, found)
	}
	if len(found) == shaped {
		return found
	}
	return merge(found)
}

// addValues adds the occurrences of the known values.
func (r *Redactor) addValues(text string, found []Match) []Match {
	for _, value := range r.values {
		for at := 0; ; {
			i := strings.Index(text[at:], value)
			if i < 0 {
				break
			}
			found = append(found, Match{at + i, at + i + len(value), "environment secret"})
			at += i + len(value)
		}
	}
	return found
}

// Text returns text with each secret replaced by a mark that says what it was.
func (r *Redactor) Text(text string) string {
	found := r.Find(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range found {
		b.WriteString(text[at:m.Start])
		b.WriteString(mark(m.Kind))
		at = m.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// Argv returns the arguments of a command without their secrets: the values of telling flags, and what the usage of the
// program says. It returns argv itself where there are none.
func (r *Redactor) Argv(argv []string) []string {
	out := argv
	set := func(i int, clean string) {
		if clean == argv[i] {
			return
		}
		if &out[0] == &argv[0] {
			out = slices.Clone(argv)
		}
		out[i] = clean
	}
	flag := false
	for i, arg := range argv {
		set(i, r.Text(arg))
		if flag && !strings.HasPrefix(arg, markPrefix) {
			set(i, mark("secret"))
		}
		flag = secretFlag(arg)
	}
	for i, found := range byArgument(commandSecrets(argv)) {
		set(i, r.redactArg(argv[i], found))
	}
	return out
}

// redactArg returns an argument without what was found in it, and without what else is secret.
func (r *Redactor) redactArg(arg string, found []Match) string {
	text, at := "", 0
	for _, m := range found {
		text += r.Text(arg[at:m.Start]) + mark(m.Kind)
		at = m.End
	}
	return text + r.Text(arg[at:])
}

// secretFlag reports whether the argument after this one is a secret, by the flag's name. Flags that say where a secret
// is are not followed by one.
func secretFlag(arg string) bool {
	if len(arg) < 4 || arg[0] != '-' || !SecretName(strings.TrimLeft(arg, "-")) {
		return false
	}
	for _, where := range [...]string{"-fd", "-file", "-stdin", "-path", "-prompt", "-command", "-env", "-helper", "-source"} {
		if strings.HasSuffix(arg, where) {
			return false
		}
	}
	return true
}

// byArgument returns the secrets of each argument, in order and without overlap.
func byArgument(spans []span) map[int][]Match {
	args := map[int][]Match{}
	for _, s := range spans {
		args[s.arg] = append(args[s.arg], Match{s.start, s.end, "secret"})
	}
	for i := range args {
		args[i] = merge(args[i])
	}
	return args
}

const markPrefix = "[redacted"

func mark(kind string) string { return markPrefix + " " + kind + "]" }

// SecretName reports whether a value of this name (an argument, a variable, a header) is likely a secret. Case,
// underscores, dashes and dots do not count.
func SecretName(name string) bool {
	var buf [64]byte
	flat := buf[:0]
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.':
		case 'A' <= c && c <= 'Z':
			flat = append(flat, c|0x20)
		default:
			flat = append(flat, c)
		}
	}
	if len(flat) < 3 {
		return false
	}
	switch flat[len(flat)-1] { // every name ends in one of these letters, or is found by the words below
	case 'n', 'h', 'e':
		switch string(flat) {
		case "auth", "cookie", "setcookie":
			return true
		}
		if hasSuffix(flat, "token") {
			return true
		}
	}
	for _, word := range secretWords {
		if contains(flat, word) {
			return true
		}
	}
	return shortSecret(name, flat)
}

// shortSecret finds names that end in a short word for a password: DB_PASS, MYSQL_PWD, sshpass. The word alone, and words
// that only end like it (bypass, OLDPWD), are none.
func shortSecret(name string, flat []byte) bool {
	if n := len(name) - len("_pass"); n > 0 && strings.IndexByte("_-.", name[n]) >= 0 && hasSuffix(flat, "pass") {
		return true
	}
	switch string(flat) {
	case "sshpass", "dbpass", "userpass", "rootpass", "adminpass", "smtppass", "mysqlpwd", "dbpwd", "userpwd", "rootpwd", "adminpwd",
		"rootpw", "dbpw", "adminpw", "userpw", "bindpw", "accountkey":
		return true
	}
	return false
}

// secretWords make a name secret wherever they stand in it.
var secretWords = [...]string{
	"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "signingkey", "encryptionkey",
	"authorization", "credential", "bearer",
}

func hasSuffix(b []byte, s string) bool { return len(b) >= len(s) && string(b[len(b)-len(s):]) == s }

func contains(b []byte, s string) bool {
	for i := 0; i+len(s) <= len(b); i++ {
		if b[i] == s[0] && string(b[i:i+len(s)]) == s {
			return true
		}
	}
	return false
}
