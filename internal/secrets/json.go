package secrets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of what Bounded keeps.
const (
	maxString = 2 << 10
	maxArgs   = 64 << 10
	maxHead   = 200
)

// Bounded returns raw with secrets in strings and keys replaced by marks, and every string and number below a telling
// key. It keeps no more than a log needs: a string over 2 KiB becomes an object with its sha256, its length in bytes and
// the head of what it was without secrets; so does the whole where more than 64 KiB remain. Input that is not JSON comes
// back as a JSON string. The result may share memory with raw.
func (r *Redactor) Bounded(raw json.RawMessage) json.RawMessage {
	out := r.rewrite(raw)
	if len(out) <= maxArgs {
		return out
	}
	return digestOf(string(raw), string(out), maxString/2)
}

func (r *Redactor) rewrite(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	if !json.Valid(raw) {
		text := string(raw)
		clean := r.Text(strings.ToValidUTF8(text, "\uFFFD"))
		if len(clean) > maxString {
			return digestOf(text, clean, maxHead)
		}
		return quote(clean)
	}
	w := walker{src: string(raw), r: r}
	w.value(false)
	if w.out == nil {
		return raw
	}
	return append(w.out, w.src[w.copied:]...)
}

// walker goes once over valid JSON and copies it where something has to be replaced.
type walker struct {
	src string
	pos int
	r   *Redactor
	// program is what an object names beside the arguments.
	program string
	// out holds the result up to src[:copied]; nil while nothing was replaced.
	out    []byte
	copied int
}

// value goes over the value at pos. In a secret one every string and number is replaced.
func (w *walker) value(secret bool) {
	w.space()
	switch c := w.src[w.pos]; c {
	case '{':
		w.members(secret)
	case '[':
		w.elements(secret)
	case '"':
		w.str(secret)
	default:
		start := w.pos
		for w.pos < len(w.src) && strings.IndexByte(",]} \t\r\n", w.src[w.pos]) < 0 {
			w.pos++
		}
		if secret && c != 't' && c != 'f' && c != 'n' {
			w.replace(start, quote(mark("secret")))
		}
	}
}

// programKeys are the names beside which the arguments of a program stand.
var programKeys = []string{"command", "program", "executable", "cmd"}

func (w *walker) members(secret bool) {
	defer func(program string) { w.program = program }(w.program)
	w.program = ""
	for w.pos++; ; w.pos++ {
		if w.space(); w.src[w.pos] == '}' {
			break
		}
		key := w.key()
		w.space()
		w.pos++ // the colon
		w.space()
		if value := w.pos; w.src[value] == '"' && slices.Contains(programKeys, key) {
			w.program = w.literal()
			w.pos = value
		}
		w.value(secret || SecretName(key))
		if w.space(); w.src[w.pos] == '}' {
			break
		}
	}
	w.pos++
}

// elements goes over an array. A string after a telling flag is its value, as in ["--password", "x"], and strings that are
// a command are read as one.
func (w *walker) elements(secret bool) {
	clean := w.command()
	flag := false
	for i := 0; ; i++ {
		w.pos++
		if w.space(); w.src[w.pos] == ']' {
			break
		}
		start := w.pos
		if text, ok := clean[i]; ok && !secret && !flag {
			w.literal()
			w.replace(start, quote(text))
		} else {
			w.value(secret || flag)
		}
		text := w.src[start:w.pos]
		flag = len(text) > 3 && text[0] == '"' && secretFlag(text[1:len(text)-1])
		if w.space(); w.src[w.pos] == ']' {
			break
		}
	}
	w.pos++
}

// command returns those of the strings that the array at pos starts with that hold a secret as arguments of a command,
// without it. The program may be beside the array: {"command": "mysql", "args": [...]}.
func (w *walker) command() map[int]string {
	look := walker{src: w.src, pos: w.pos}
	argv := []string{w.program}
	for {
		look.pos++
		if look.space(); look.src[look.pos] != '"' || len(argv) > maxWords {
			break
		}
		argv = append(argv, look.literal())
		if look.space(); look.src[look.pos] != ',' {
			break
		}
	}
	clean := map[int]string{}
	for i, spans := range byArgument(commandSecrets(argv)) {
		if i > 0 {
			clean[i-1] = w.r.redactArg(argv[i], spans)
		}
	}
	return clean
}

// literal moves over the string at pos and returns what it says.
func (w *walker) literal() string {
	start := w.pos
	escaped := false
	for w.pos++; w.src[w.pos] != '"'; w.pos++ {
		if w.src[w.pos] == '\\' {
			escaped = true
			w.pos++
		}
	}
	w.pos++
	if escaped {
		return unquote(w.src[start:w.pos])
	}
	return w.src[start+1 : w.pos-1]
}

// unquote returns what a valid JSON string says.
func unquote(literal string) (text string) {
	_ = json.Unmarshal([]byte(literal), &text)
	return text
}

func (w *walker) key() string {
	start := w.pos
	key := w.literal()
	if found := w.r.Find(key); len(found) > 0 {
		w.replace(start, quote(w.r.Text(key)))
	}
	return key
}

func (w *walker) str(secret bool) {
	start := w.pos
	text := w.literal()
	if secret {
		if text != "" && !strings.HasPrefix(text, markPrefix) {
			w.replace(start, quote(mark("secret")))
		}
		return
	}
	clean := w.r.Text(text)
	switch {
	case len(clean) > maxString:
		w.replace(start, digestOf(text, clean, maxHead))
	case clean != text:
		w.replace(start, quote(clean))
	}
}

// replace puts data in place of src[start:pos].
func (w *walker) replace(start int, data []byte) {
	if w.out == nil {
		w.out = make([]byte, 0, min(len(w.src), 4<<10)+len(data))
	}
	w.out = append(w.out, w.src[w.copied:start]...)
	w.out = append(w.out, data...)
	w.copied = w.pos
}

func (w *walker) space() {
	for w.pos < len(w.src) && w.src[w.pos] <= ' ' {
		w.pos++
	}
}

// digestOf stands for a text that is too long to keep.
func digestOf(text, clean string, head int) json.RawMessage {
	sum := sha256.Sum256([]byte(text))
	for head > 0 && head < len(clean) && !utf8.RuneStart(clean[head]) {
		head--
	}
	data, _ := json.Marshal(struct { // strings and numbers always encode
		SHA256 string `json:"sha256"`
		Bytes  int    `json:"bytes"`
		Head   string `json:"head"`
	}{hex.EncodeToString(sum[:]), len(text), clean[:min(head, len(clean))]})
	return data
}

// quote encodes text as JSON without escaping what only HTML minds.
func quote(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return bytes.TrimRight(b.Bytes(), "\n")
}
