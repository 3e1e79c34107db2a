package gitdir

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// patterns take a command apart.
type patterns struct {
	// blank and shell separate words: as they are written, and as the shell may take them apart.
	blank, shell *regexp.Regexp
	// variable is one of the shell, and option the beginning of a word before a path.
	variable, option *regexp.Regexp
	// constant is a word that names no file, and cd says where the words after it are.
	constant, cd, quoted *regexp.Regexp
	quotes               *strings.Replacer
}

// patternsOnce compiles them when they are first needed: a helper process never does.
var patternsOnce = sync.OnceValue(func() *patterns {
	return &patterns{
		blank: regexp.MustCompile(`\s+`), shell: regexp.MustCompile("[\\s\"'`;&|()<>={},:$!\\\\]+"),
		variable: regexp.MustCompile(`\$\{?[A-Za-z_][A-Za-z0-9_]*\}?`), option: regexp.MustCompile(`^-[^/~.]*`),
		constant: regexp.MustCompile(`^(?:[0-9]*|true|false|yes|no|on|off|[.]+)$`),
		cd:       regexp.MustCompile(`\bcd\s+["']?([^\s"';&|]+)`), quoted: regexp.MustCompile(`"([^"]*)"|'([^']*)'`),
		quotes: strings.NewReplacer(`"`, "", `'`, "", `\`, ""),
	}
})

// split returns all that may be a word of a command that names a file, and the directories that it changes to. It does not
// understand the command: too many words cost nothing, since hardly any of them is a file.
func split(command string) (words, dirs []string) {
	p := patternsOnce()
	for _, m := range p.cd.FindAllStringSubmatch(command, -1) {
		dirs = append(dirs, m[1])
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	all := slices.Concat(p.shell.Split(command, -1), p.blank.Split(p.quotes.Replace(command), -1),
		p.shell.Split(p.variable.ReplaceAllString(command, " "), -1))
	for _, m := range p.quoted.FindAllStringSubmatch(command, -1) {
		all = append(all, m[1]+m[2])
	}
	slices.Sort(all)
	for _, word := range slices.Compact(all) {
		if word = p.option.ReplaceAllString(word, ""); !p.constant.MatchString(word) {
			words = append(words, word)
		}
	}
	return words, dirs
}
