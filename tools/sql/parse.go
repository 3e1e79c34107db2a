package sql

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// statement is what the words of a statement tell of it.
type statement struct {
	// verb is its first word, in capitals.
	verb string
	// tables are the names after words such as FROM and INTO, for a person: what a function or a trigger touches is not among
	// them.
	tables []string
}

// word is one of a statement: a name or a keyword, or a character of its own.
type word struct {
	text string
	// quoted says that it is a name in quotation marks, and text what is between them.
	quoted, name bool
}

// parse reads a statement. It refuses what is more than one, and what cannot be read.
func parse(sql string, postgres bool) (s statement, err error) {
	words, err := scan(sql, postgres)
	if err != nil {
		return s, err
	}
	for len(words) > 0 && words[len(words)-1].is(";") {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return s, tongs.Errorf(tongs.CodeInvalidArgs, "sql has no statement in it")
	}
	if severalStatements(words) {
		return s, tongs.Errorf(tongs.CodeInvalidArgs, "sql has several statements; call once for each")
	}
	first := slices.IndexFunc(words, func(w word) bool { return !w.is("(") })
	if first < 0 || words[first].quoted || !words[first].name {
		return s, tongs.Errorf(tongs.CodeInvalidArgs, "sql begins with %q, which begins no statement", words[max(first, 0)].text)
	}
	s.verb = strings.ToUpper(words[first].text)
	s.tables = tables(words)
	return s, nil
}

func (w word) is(text string) bool { return !w.quoted && strings.EqualFold(w.text, text) }

// severalStatements reports whether a semicolon stands before another statement. Those in the body of a trigger do not.
func severalStatements(words []word) bool {
	body := len(words) > 2 && words[0].is("CREATE") && slices.ContainsFunc(words[1:min(4, len(words))], func(w word) bool { return w.is("TRIGGER") }) &&
		words[len(words)-1].is("END")
	for i, w := range words {
		if w.is(";") && !body {
			return true
		}
		// The body ends at the first END after a semicolon.
		if body && w.is("END") && i > 0 && words[i-1].is(";") && i < len(words)-1 {
			return true
		}
	}
	return false
}

// tables are the names that follow words which tables follow.
func tables(words []word) (list []string) {
	for i := 0; i+1 < len(words); i++ {
		switch w := words[i]; {
		case w.is("FROM"), w.is("INTO"), w.is("JOIN"), w.is("UPDATE"), w.is("TABLE"), w.is("TRUNCATE"), w.is("ON") && words[0].is("CREATE"):
		default:
			continue
		}
		name, next := tableName(words[i+1:])
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
		i += next
	}
	return list
}

// tableName is the name that words begin with, after words such as IF EXISTS.
func tableName(words []word) (name string, used int) {
	for used < len(words) && slices.ContainsFunc([]string{"IF", "NOT", "EXISTS", "ONLY", "OR", "TABLE", "LATERAL"}, words[used].is) {
		used++
	}
	for used < len(words) && (words[used].name || words[used].quoted) {
		if !words[used].quoted && slices.Contains([]string{"SELECT", "SET", "WHERE", "VALUES"}, strings.ToUpper(words[used].text)) {
			break
		}
		name += words[used].text
		used++
		if used >= len(words) || !words[used].is(".") {
			break
		}
		name += "."
		used++
	}
	return name, max(0, used-1)
}

// scan splits a statement into words, without comments and the content of strings.
func scan(sql string, postgres bool) (words []word, err error) {
	for sql != "" {
		var w word
		var n int
		switch c := sql[0]; {
		case strings.IndexByte(" \t\n\r\f\v", c) >= 0:
			n = 1
		case strings.HasPrefix(sql, "--"):
			if n = strings.IndexAny(sql, "\r\n"); n < 0 || !postgres {
				n = strings.IndexByte(sql, '\n')
			}
			if n < 0 {
				n = len(sql)
			}
		case strings.HasPrefix(sql, "/*"):
			n = comment(sql, postgres)
		case c == '\'':
			n, w = quoted(sql, '\'', false), word{text: "'"}
		case c == '"' || c == '`' && !postgres:
			n = quoted(sql, c, false)
			w = word{text: sql[1:max(1, n-1)], quoted: true}
		case c == '[' && !postgres:
			n = strings.IndexByte(sql, ']') + 1
			w = word{text: sql[1:max(1, n-1)], quoted: true}
		case c == '$' && postgres && dollar(sql) != "":
			n, w = dollarQuoted(sql, dollar(sql)), word{text: "'"}
		case letter(c):
			n = 1
			for n < len(sql) && (letter(sql[n]) || digit(sql[n]) || sql[n] == '$') {
				n++
			}
			w = word{text: sql[:n], name: true}
			if postgres && n < len(sql) && sql[n] == '\'' && strings.EqualFold(sql[:n], "e") {
				n, w = 1+quoted(sql[1:], '\'', true), word{text: "'"}
			}
		default:
			n, w = 1, word{text: sql[:1]}
		}
		if n <= 0 || n > len(sql) {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "sql has a string, a name or a comment that does not end: %.40s", sql)
		}
		if w.text != "" || w.quoted {
			words = append(words, w)
		}
		sql = sql[n:]
	}
	return words, nil
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// comment is the length of the comment that s begins with, 0 where it does not end. Those of PostgreSQL nest.
func comment(s string, nests bool) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			if depth == 0 || nests {
				depth++
				i++
			}
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	if !nests { // SQLite ends it with the text
		return len(s)
	}
	return 0
}

// quoted is the length of what s begins with, in quotation marks, 0 where it does not end.
func quoted(s string, mark byte, escapes bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == mark && i+1 < len(s) && s[i+1] == mark:
			i++
		case s[i] == mark:
			return i + 1
		}
	}
	return 0
}

// dollar is the mark of a dollar-quoted string that s begins with: $$ or $name$.
func dollar(s string) string {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '$':
			return s[:i+1]
		case letter(c) || digit(c) && i > 1:
		default:
			return ""
		}
	}
	return ""
}

func dollarQuoted(s, mark string) int {
	end := strings.Index(s[len(mark):], mark)
	if end < 0 {
		return 0
	}
	return end + 2*len(mark)
}
