package ignore

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// User is where git's configuration of a user is. The zero value is a user without any.
type User struct {
	// Home is what ~ stands for.
	Home string
	// Config are git's configuration files, the weakest first. Those that do not exist count as empty.
	Config []string
	// Ignore is the file that holds where core.excludesFile is not set.
	Ignore string
}

// CurrentUser returns the user that the environment describes, by the variables that git itself goes by.
func CurrentUser() User {
	var u User
	u.Home, _ = os.UserHomeDir()
	if skip, _ := parseBool(os.Getenv("GIT_CONFIG_NOSYSTEM")); !skip {
		u.Config = append(u.Config, orElse(os.Getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"))
	}
	xdg := os.Getenv("XDG_CONFIG_HOME")
	if xdg == "" && u.Home != "" {
		xdg = filepath.Join(u.Home, ".config")
	}
	if xdg != "" {
		u.Ignore = filepath.Join(xdg, "git", "ignore")
	}
	if global := os.Getenv("GIT_CONFIG_GLOBAL"); global != "" {
		u.Config = append(u.Config, global)
		return u
	}
	if xdg != "" {
		u.Config = append(u.Config, filepath.Join(xdg, "git", "config"))
	}
	if u.Home != "" {
		u.Config = append(u.Config, filepath.Join(u.Home, ".gitconfig"))
	}
	return u
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// settings are the parts of git's configuration that bear on ignoring.
type settings struct {
	excludes    string
	excludesSet bool
	fold        bool
}

// settings reads the configuration of the user and then that of the repository.
func (u User) settings(repository string) (s settings) {
	for _, name := range append(append([]string(nil), u.Config...), repository) {
		u.read(name, &s, 0)
	}
	return s
}

// excludes returns the file that core.excludesFile names.
func (u User) excludes(s settings, top string) string {
	switch {
	case !s.excludesSet:
		return u.Ignore
	case s.excludes == "":
		return ""
	}
	return u.expand(s.excludes, top)
}

// expand returns the path that a value of the configuration means.
func (u User) expand(value, dir string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if u.Home == "" {
			return ""
		}
		return filepath.Join(u.Home, rest)
	}
	return against(dir, value)
}

// maxIncludes bounds how deep configuration files include each other, as git does.
const maxIncludes = 10

// read takes up what one configuration file says, and those that it includes without a condition.
func (u User) read(name string, s *settings, depth int) {
	content, ok := readFollowing(name)
	if !ok || depth > maxIncludes {
		return
	}
	parseConfig(string(content), func(key, value string, set bool) {
		switch key {
		case "core.excludesfile":
			s.excludes, s.excludesSet = value, true
		case "core.ignorecase":
			s.fold = !set
			if on, ok := parseBool(value); set && ok {
				s.fold = on
			}
		case "include.path":
			if to := u.expand(value, filepath.Dir(name)); to != "" {
				u.read(to, s, depth+1)
			}
		}
	})
}

func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off", "":
		return false, true
	}
	n, err := strconv.Atoi(s)
	return n != 0, err == nil
}

// parseConfig calls found with each variable of a configuration file, named "section.key" in small letters, or
// "section.subsection.key". set is false for a variable without "=". What cannot be read is passed over.
func parseConfig(text string, found func(key, value string, set bool)) {
	section := ""
	for text != "" {
		text = strings.TrimLeft(text, " \t\r\n")
		switch {
		case text == "":
		case text[0] == '#' || text[0] == ';':
			_, text, _ = strings.Cut(text, "\n")
		case text[0] == '[':
			head, rest, ok := strings.Cut(text[1:], "]")
			if !ok {
				return
			}
			name, sub, _ := strings.Cut(head, " ")
			section = strings.ToLower(name) + "."
			if sub = strings.Trim(sub, ` "`); sub != "" {
				section += sub + "."
			}
			text = rest
		default:
			end := strings.IndexAny(text, "=\n")
			if end < 0 || text[end] == '\n' {
				line, rest, _ := strings.Cut(text, "\n")
				line, _, _ = strings.Cut(line, "#")
				found(section+strings.ToLower(strings.TrimSpace(line)), "", false)
				text = rest
				continue
			}
			key := strings.ToLower(strings.TrimSpace(text[:end]))
			var value string
			value, text = parseValue(text[end+1:])
			found(section+key, value, true)
		}
	}
}

// parseValue reads a value: up to the end of its line or a comment, with quotes, escapes and lines that go on.
func parseValue(text string) (value, rest string) {
	text = strings.TrimLeft(text, " \t")
	var b strings.Builder
	quoted, spaces := false, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			return b.String(), text[i+1:]
		case !quoted && (c == ' ' || c == '\t' || c == '\r'):
			spaces++ // counts only if something follows
			continue
		case !quoted && (c == '#' || c == ';'):
			_, rest, _ = strings.Cut(text[i:], "\n")
			return b.String(), rest
		case c == '"':
			quoted = !quoted
			continue
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] == '\n' {
				continue
			}
			c = unescape(text[i])
		}
		b.WriteString(strings.Repeat(" ", spaces))
		b.WriteByte(c)
		spaces = 0
	}
	return b.String(), ""
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	default:
		return c
	}
}
