package forge

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"

	"github.com/tongs-ai/tongs"
)

// Bounds of a command line.
const (
	maxFlag  = 128<<10 - 4096 // the kernel takes no longer word
	maxFlags = 1 << 20
)

// Flags are arguments as a program gets them: --name=value in the order of the parameters. Strings are as they were sent,
// booleans are true or false, integers are digits, other numbers are as they were written, and arrays are JSON. What was
// not given has no flag. Args must fit the schema of the parameters.
func (m *Manifest) Flags(args json.RawMessage) ([]string, error) {
	var given map[string]json.RawMessage
	if len(args) > 0 {
		if err := json.Unmarshal(args, &given); err != nil {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "the arguments are not an object: %w", err)
		}
	}
	flags, total := []string{}, 0
	for _, p := range m.Parameters {
		raw, ok := given[p.Name]
		if !ok || string(raw) == "null" {
			continue
		}
		value, err := flagValue(p, raw)
		if err != nil {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%s: %w", p.Name, err)
		}
		switch {
		case strings.IndexByte(value, 0) >= 0:
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%s holds a zero byte, which no program can be given", p.Name)
		case len(value) > maxFlag:
			return nil, tongs.Errorf(tongs.CodeTooLarge, "%s has %d bytes, and a program takes at most %d in one argument; pass a file instead", p.Name, len(value), maxFlag)
		}
		flag := "--" + p.Name + "=" + value
		if total += len(flag); total > maxFlags {
			return nil, tongs.Errorf(tongs.CodeTooLarge, "the arguments have more than %d bytes; pass a file instead", maxFlags)
		}
		flags = append(flags, flag)
	}
	return flags, nil
}

func flagValue(p Parameter, raw json.RawMessage) (string, error) {
	switch p.Type {
	case "string":
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case "integer":
		return integer(string(raw)), nil
	case "array":
		var b bytes.Buffer
		err := json.Compact(&b, raw)
		return b.String(), err
	}
	return string(raw), nil
}

// integer writes a whole number in digits, also where JSON has it as 1e3 or 5.0. One that is out of all bounds stays as it is.
func integer(number string) string {
	if !strings.ContainsAny(number, ".eE") || len(number) > 40 {
		return number
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 && len(number)-i > 4 {
		return number
	}
	f, ok := new(big.Rat).SetString(number)
	if !ok || !f.IsInt() {
		return number
	}
	return f.Num().String()
}
