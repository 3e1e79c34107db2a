package xmltools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs/model"
)

// decode returns what the text of an element says. CDATA is taken as it is, and the space around it is not part of the
// value. Otherwise entities are decoded, a bare ampersand stands for itself, and, where the value begins on a line of its
// own, that line break and the one before its end are not part of it.
func decode(body string) string {
	if !strings.Contains(body, "<![CDATA[") {
		return entities(unwrap(body))
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(body, "<![CDATA[")
		if !ok {
			before = body
		}
		if strings.TrimSpace(before) != "" {
			b.WriteString(entities(before))
		}
		if !ok {
			return b.String()
		}
		data, after, ok := strings.Cut(rest, "]]>")
		b.WriteString(data)
		if !ok {
			return b.String()
		}
		body = after
	}
}

func unwrap(body string) string {
	trimmed, ok := strings.CutPrefix(strings.TrimPrefix(body, "\r"), "\n")
	if !ok {
		return body
	}
	if i := strings.LastIndexByte(trimmed, '\n'); i >= 0 && strings.Trim(trimmed[i:], " \t\r\n") == "" {
		return strings.TrimSuffix(trimmed[:i], "\r")
	}
	return trimmed
}

var named = map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`, "apos": "'"}

// entities decodes entities; what is none stays.
func entities(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := strings.IndexByte(s[:min(len(s), 12)], ';')
		if text, ok := entity(s, n); ok {
			b.WriteString(text)
			s = s[n+1:]
			continue
		}
		b.WriteByte('&')
		s = s[1:]
	}
}

func entity(s string, n int) (string, bool) {
	if n < 2 {
		return "", false
	}
	if text, ok := named[s[1:n]]; ok {
		return text, true
	}
	if s[1] != '#' {
		return "", false
	}
	digits, base := s[2:n], 10
	if strings.HasPrefix(strings.ToLower(digits), "x") {
		digits, base = digits[1:], 16
	}
	code, err := strconv.ParseUint(digits, base, 32)
	if err != nil || code == 0 || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		return "", false
	}
	return string(rune(code)), true
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escape(s string) string { return escaper.Replace(s) }

// Write returns a call as the model should have written it.
func Write(c *model.Call) string {
	var args map[string]any
	dec := json.NewDecoder(strings.NewReader(c.Args))
	dec.UseNumber()
	var b strings.Builder
	if err := dec.Decode(&args); err != nil || dec.More() || !elements(&b, args) {
		b.Reset()
		b.WriteString(escape(c.Args) + "\n")
	}
	return fmt.Sprintf("<tool>\n<server_name>%s</server_name>\n<tool_name>%s</tool_name>\n<arguments>\n%s</arguments>\n</tool>\n",
		Server, escape(c.Name), b.String())
}

// elements writes an object as elements. It reports false for what has no form in XML.
func elements(b *strings.Builder, v map[string]any) bool {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		for i := range len(k) {
			if !nameByte(k[i], i == 0) {
				return false
			}
		}
		list, ok := v[k].([]any)
		if !ok {
			list = []any{v[k]}
		}
		if k == "" || ok && len(list) == 0 {
			return false
		}
		for _, item := range list {
			if !element(b, k, item) {
				return false
			}
		}
	}
	return true
}

func element(b *strings.Builder, name string, v any) bool {
	fmt.Fprintf(b, "<%s>", name)
	switch v := v.(type) {
	case map[string]any:
		b.WriteString("\n")
		if !elements(b, v) {
			return false
		}
	case []any:
		return false
	case string:
		if strings.HasPrefix(v, "\n") || strings.HasPrefix(v, "\r\n") {
			b.WriteString("\n")
			fmt.Fprintf(b, "%s\n", escape(v))
			break
		}
		b.WriteString(escape(v))
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return false
		}
		b.Write(text)
	}
	fmt.Fprintf(b, "</%s>\n", name)
	return true
}
