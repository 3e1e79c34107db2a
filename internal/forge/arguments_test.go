package forge_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// torture are values that something on the way could take for something else.
func torture() []string {
	return []string{
		"", " ", "plain", "two words", "  padded  ", "\n", "a\nb", "trailing\n", "\ttab", "\r\n", "'", `"`, `\`, `\n`, "`id`", "$(id)", "$HOME", "${x}",
		"*", "?", "[a]", "~", "#", "!", "&", "|", ";", "<", ">", "(", ")", "{", "}", "=", "==", "a=b", "=a", "-", "--", "-x", "--x", "--x=y", "--value=z",
		"0", "-1", "007", "1e3", "true", "false", "null", "nil", "{}", "[]", `{"a":1}`, "é", "日本語", "👩‍👩‍👧", "\u202e", "\ufeff", "\x7f", "\x01", "%s%n", "\\x41",
		"@file", "\u2028", "\U0010ffff", strings.Repeat("x", 64<<10), strings.Repeat("é\n'", 5000),
	}
}

// places is how many strings the tools of this test take at a time, as --a0 to --a23.
const places = 24

// The same tool in each language: it writes the strings that it was given to the file got, each with a zero byte behind it,
// and the others to its standard error, read as what they are and written again.
const (
	echoGo = `package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	value := flag.String("value", "", "")
	texts := make([]*string, 24)
	for i := range texts {
		texts[i] = flag.String(fmt.Sprintf("a%d", i), "", "")
	}
	number := flag.Float64("number", 0, "")
	whole := flag.Int64("whole", 0, "")
	yes := flag.Bool("yes", false, "")
	list := flag.String("list", "[]", "")
	flag.Parse()
	var items json.RawMessage
	if err := json.Unmarshal([]byte(*list), &items); err != nil {
		panic(err)
	}
	var got strings.Builder
	for _, t := range texts {
		got.WriteString(*t + "\x00")
	}
	if err := os.WriteFile("got", []byte(got.String()), 0o644); err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, "%v %d %t %s", *number, *whole, *yes, items)
	fmt.Print(*value)
}
`
	echoSh = `#!/bin/sh
: > got
for a in "$@"; do
	case $a in
	--a[0-9]*=*) printf '%s\0' "${a#*=}" >> got ;;
	--value=*) printf %s "${a#*=}" ;;
	--number=* | --whole=* | --yes=*) printf '%s ' "${a#*=}" >&2 ;;
	--list=*) printf %s "${a#*=}" >&2 ;;
	esac
done
`
	echoPython = `#!/usr/bin/env python3
import json, os, sys
a = {}
for arg in sys.argv[1:]:
    name, _, value = arg.partition("=")
    a[name[2:]] = value
with open("got", "wb") as f:
    for i in range(24):
        f.write(os.fsencode(a.get("a%d" % i, "")) + b"\0")
if "list" in a:
    items = json.dumps(json.loads(a["list"]), separators=(",", ":"), ensure_ascii=False)
    print(repr(float(a["number"])), int(a["whole"]), a["yes"], items, end="", file=sys.stderr)
print(a.get("value", ""), end="")
`
	echoNode = `#!/usr/bin/env node
const fs = require('fs')
const given = {}
for (const a of process.argv.slice(2)) given[a.slice(2, a.indexOf('='))] = a.slice(a.indexOf('=') + 1)
fs.writeFileSync('got', [...Array(24).keys()].map(i => (given['a' + i] ?? '') + '\0').join(''))
if (given.list) process.stderr.write([Number(given.number), BigInt(given.whole), JSON.parse(given.yes), JSON.stringify(JSON.parse(given.list))].join(' '))
process.stdout.write(given.value ?? '')
`
)

// echo makes and approves that tool in a language. The one in Go is built as people do it by hand, with plain go build.
func (b *bench) echo(lang string) {
	b.Helper()
	source := map[string][2]string{
		"go": {"echo-go.go", echoGo}, "sh": {"run.sh", echoSh}, "python": {"run.py", echoPython}, "node": {"run.js", echoNode},
	}[lang]
	name, entrypoint := "echo-"+lang, source[0]
	if lang == "go" {
		entrypoint = name
	}
	var yaml strings.Builder
	fmt.Fprintf(&yaml, "name: %s\ndescription: Prints what it is given.\nentrypoint: %s\nparameters:\n  - {name: value, type: string}\n", name, entrypoint)
	for i := range places {
		fmt.Fprintf(&yaml, "  - {name: a%d, type: string}\n", i)
	}
	yaml.WriteString("  - {name: number, type: number}\n  - {name: whole, type: integer}\n  - {name: yes, type: boolean}\n  - {name: list, type: array, items: array}\n")
	b.tool(name, "tool.yaml", yaml.String(), source[0], source[1])
	if lang == "go" {
		cmd := exec.Command("go", "build", "-o", name, source[0])
		cmd.Dir, cmd.Env = filepath.Join(b.forge, name), append(os.Environ(), "GO111MODULE=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		b.refresh()
	}
	b.approve(name)
}

func TestArgumentsArriveExactly(t *testing.T) {
	values := torture()
	if len(values) < 60 {
		t.Fatalf("only %d values", len(values))
	}
	for _, lang := range []string{"go", "sh", "python", "node"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
			b.echo(lang)
			for from := 0; from < len(values); from += places {
				some := values[from:min(from+places, len(values))]
				given, want := args{}, ""
				for i := range places {
					text := ""
					if i < len(some) {
						text = some[i]
					}
					given[fmt.Sprintf("a%d", i)], want = text, want+text+"\x00"
				}
				b.OK("echo-"+lang, given)
				got, wanted := strings.Split(b.Get("got"), "\x00"), strings.Split(want, "\x00")
				if len(got) != len(wanted) {
					t.Fatalf("%d values arrived, want %d", len(got), len(wanted))
				}
				for i := range wanted {
					if got[i] != wanted[i] {
						t.Errorf("value %d is %.100q, want %.100q", from+i, got[i], wanted[i])
					}
				}
			}
			b.typed(lang)
		})
	}
}

// typed has values of other types arrive as what they are.
func (b *bench) typed(lang string) {
	b.Helper()
	for in, want := range map[string]string{
		`{"number":-0.25,"whole":9007199254740993,"yes":true,"list":[[1],["a b",[[]]]]}`:             `-0.25 9007199254740993 true [[1],["a b",[[]]]]`,
		`{"number":3.5,"whole":-9007199254740993,"yes":false,"list":[]}`:                             `3.5 -9007199254740993 false []`,
		`{"number":0.1,"whole":9223372036854775807,"yes":true,"list":[["--x=1","é\n"],[null,true]]}`: `0.1 9223372036854775807 true [["--x=1","é\n"],[null,true]]`,
		`{"number":1.7976931348623157e+308,"whole":-9007199254740992,"yes":true,"list":[[-1.5]]}`:    `1.7976931348623157e+308 -9007199254740992 true [[-1.5]]`,
	} {
		res := b.Engine.Call(b.Context(), &tongs.Call{Tool: "echo-" + lang, Args: json.RawMessage(in), Session: "s"})
		if !res.OK() {
			b.Errorf("%s: %v\n%s", in, res.Error, res.Content)
			continue
		}
		var out struct{ Stderr string }
		b.Must(json.Unmarshal(res.Value, &out))
		b.Equal(in, out.Stderr, want)
	}
}
