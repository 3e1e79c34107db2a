package secrets

import (
	"path"
	"slices"
	"strings"
)

// span is a part of an argument: argument arg, from byte start to its byte end.
type span struct{ arg, start, end int }

// programName is the name that a word calls a program by.
func programName(word string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
}

// secretArgs returns the parts of the arguments of a program that are secrets by its usage. argv[0] is the program.
func secretArgs(name string, argv []string) (found []span) {
	if values, ok := wrappers[name]; ok {
		argv = ownArguments(argv, values)
	}
	for _, u := range programs[name] {
		if u.option == "" {
			found = append(found, u.afterWord(argv)...)
			continue
		}
		if !u.applies(argv) {
			continue
		}
		for i := 1; i < len(argv); i++ {
			at, ok := u.valueOf(argv[i])
			switch {
			case !ok:
			case at < len(argv[i]):
				found = append(found, u.secretIn(argv, i, at)...)
			case !u.glued && i+1 < len(argv):
				found = append(found, u.secretIn(argv, i+1, 0)...)
			}
		}
	}
	return found
}

// wrappers run another program, whose options are not theirs: the letters of their options that have a value.
var wrappers = map[string]string{"sshpass": "pfdP"}

// ownArguments are those before the program that a wrapper runs.
func ownArguments(argv []string, values string) []string {
	for i := 1; i < len(argv); i++ {
		arg := argv[i]
		switch {
		case len(arg) < 2 || arg[0] != '-':
			return argv[:i]
		case len(arg) == 2 && strings.IndexByte(values, arg[1]) >= 0:
			i++
		}
	}
	return argv
}

// applies reports whether the words of the usage are the subcommand: only options and what may be their values stand
// before them.
func (u *usage) applies(argv []string) bool {
	i := 1
	for _, word := range u.words {
		for i < len(argv) && argv[i] != word && (strings.HasPrefix(argv[i], "-") || strings.HasPrefix(argv[i-1], "-")) {
			i++
		}
		if i == len(argv) || argv[i] != word {
			return false
		}
		i++
	}
	return true
}

// valueOf returns where the value of the option starts in an argument: at its end where it is the next argument.
func (u *usage) valueOf(arg string) (at int, ok bool) {
	if u.bundle != "" && len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
		k := 1
		for k < len(arg) && strings.IndexByte(u.bundle, arg[k]) >= 0 {
			k++
		}
		if k < len(arg) && arg[k] == u.option[1] {
			return k + 1, true
		}
	}
	rest, ok := strings.CutPrefix(arg, u.option)
	switch {
	case !ok:
		return 0, false
	case rest == "":
		return len(arg), true
	case u.apart:
		return 0, false
	case rest[0] == '=' && len(u.option) > 2:
		return len(u.option) + 1, true
	case u.glued, len(u.option) == 2:
		return len(u.option), true
	default:
		return 0, false // a longer name
	}
}

// afterWord finds secrets that have no option.
func (u *usage) afterWord(argv []string) []span {
	i := 1
	for _, word := range u.words {
		for i < len(argv) && argv[i] != word {
			i++
		}
		i++
	}
	for i < len(argv) && strings.HasPrefix(argv[i], "-") && argv[i] != "-" {
		i++
	}
	if u.named {
		for i < len(argv) && !u.namesSecret(argv[i]) {
			i++
		}
		i++
	}
	if i >= len(argv) {
		return nil
	}
	if u.sep == '=' { // any number of NAME=VALUE
		var found []span
		for ; i < len(argv); i++ {
			found = append(found, u.secretIn(argv, i, 0)...)
		}
		return found
	}
	if u.sep == 0 && strings.Contains(argv[i], "=") {
		return nil // a name and a value: the name tells
	}
	return u.secretIn(argv, i, 0)
}

// namesSecret reports whether the argument before a secret names one. After a word that is about users anything does.
func (u *usage) namesSecret(name string) bool {
	switch last := u.words[len(u.words)-1]; last {
	case "set", "config":
		flat := strings.ToLower(name[strings.LastIndexAny(name, ":/")+1:])
		return SecretName(flat) || flat == "_auth"
	default:
		return true
	}
}

// secretIn returns the secret in argument i, whose value starts at the given byte.
func (u *usage) secretIn(argv []string, i, at int) []span {
	value := argv[i][at:]
	start := 0
	switch {
	case u.prefix != "":
		if !strings.HasPrefix(value, u.prefix) {
			return nil
		}
		start = len(u.prefix)
	case u.sep != 0:
		k := strings.IndexByte(value, u.sep)
		if k < 0 {
			return nil
		}
		start = k + 1
	}
	end := len(value)
	if u.sep == '/' {
		if k := strings.LastIndexByte(value, '@'); k > start {
			end = k
		}
	}
	secret := value[start:end]
	if secret == "" || at == 0 && u.sep == 0 && u.prefix == "" && isFlag(secret) || reference(secret) {
		return nil
	}
	return []span{{i, at + start, at + end}}
}

// isFlag reports whether an argument is more likely another option than a value.
func isFlag(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && (arg[1] == '-' || len(arg) == 2)
}

// reference reports whether a value stands for another, is a mark of ours, or tells a program to ask.
func reference(value string) bool {
	return strings.HasPrefix(value, "$") || strings.HasPrefix(value, "`") || strings.HasPrefix(value, markPrefix) ||
		strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") || value == "-"
}

// lastArgument finds the password of programs that take it last: htpasswd -b, mkpasswd, wpa_passphrase.
func lastArgument(name string, argv []string) []span {
	last := len(argv) - 1
	switch name {
	case "htpasswd":
		batch := false
		for _, arg := range argv[1:] {
			batch = batch || len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "b")
		}
		if !batch || last < 3 {
			return nil
		}
	case "mkpasswd":
		if last < 1 || last > 1 && isFlag(argv[last-1]) {
			return nil
		}
	case "wpa_passphrase":
		if last != 2 {
			return nil
		}
	default:
		return nil
	}
	if reference(argv[last]) || strings.HasPrefix(argv[last], "-") {
		return nil
	}
	return []span{{last, 0, len(argv[last])}}
}

// programSecrets returns the secrets that the program argv[0] is given.
func programSecrets(argv []string) []span {
	name := programName(argv[0])
	return append(secretArgs(name, argv), lastArgument(name, argv)...)
}

// maxPrograms bounds how many programs one command is looked through for.
const maxPrograms = 16

// commandSecrets returns the secrets of one command, wherever in it the program stands: behind sudo, env, ssh or docker
// exec.
func commandSecrets(argv []string) (found []span) {
	programs := 0
	for i, word := range argv {
		if programs == maxPrograms {
			break
		}
		if word == "" || kindOf(programName(word)) != taker {
			continue
		}
		programs++
		for _, s := range programSecrets(argv[i:]) {
			found = append(found, span{s.arg + i, s.start, s.end})
		}
	}
	return found
}

// readsSecret reports whether a command reads a secret from its standard input.
func readsSecret(argv []string) bool {
	for i, word := range argv {
		with, ok := readers[programName(word)]
		if !ok {
			continue
		}
		if with == "" {
			return true
		}
		for _, arg := range argv[i+1:] {
			if slices.ContainsFunc(strings.Fields(with), func(flag string) bool { return isOrBundles(arg, flag) }) {
				return true
			}
		}
	}
	return false
}

// isOrBundles reports whether an argument is a flag, or several letters of which it is one.
func isOrBundles(arg, flag string) bool {
	letters := len(flag) == 2 && len(arg) > 1 && arg[0] == '-' && arg[1] != '-'
	return arg == flag || letters && strings.Contains(arg, flag[1:])
}
