//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// ? shows everything of a question: lines of any length, to their end.
func TestShowEverythingShowsLongLines(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "old\n")
	long := strings.Repeat("abcdefghij", 900) + "THE-END-OF-IT"
	c := d.terminal("call", "write_file", "path=a.txt", "content="+long)
	c.expect(`\? shows everything`)
	c.expect(chosen)
	c.typing("?")
	for {
		got := c.expect(`No newline at end of file|q ends\)`)
		if strings.HasPrefix(got[0], "No") {
			break
		}
		c.typing(" ")
	}
	c.expect(`q ends\)`)
	c.typing("q")
	c.expect(chosen)
	shown := strings.NewReplacer("\r\n│ ", "", "\x1b[2m│\x1b[m ", "").Replace(c.screen())
	if n := strings.Count(ansi.Strip(shown), "THE-END-OF-IT"); n < 2 {
		t.Errorf("its end was shown %d times, not in the arguments and the difference", n)
	}
}

// Differences that are too long for a question are paged through to their end: a large file, a long line, and files that are no text.
func TestLargeOutcomesArePagedThrough(t *testing.T) {
	d := newDesk(t)
	d.write("big.txt", strings.Repeat("old line\n", 5))
	script := `i=0; while [ $i -lt 20000 ]; do echo "new line $i of a large file that goes on and on and on and on and on and on"; i=$((i+1)); done > big.txt; ` +
		`head -c 300000 /dev/zero | tr '\0' x > long.txt; echo THE-END >> long.txt; head -c 2000000 /dev/zero > zero.bin`
	c := d.terminal("call", "shell", "command="+script)
	c.expect(`\? shows everything`)
	c.expect(chosen)
	c.typing("?")
	c.expect(`of [0-9.]+ MB`)
	c.typing("G")
	c.expect(`zero\.bin`)
	c.expect(`q ends`)
	c.typing("b")
	c.expect(`\+\+\+ b/big\.txt`)
	c.expect(`q ends`)
	c.typing(" ")
	c.expect(`new line`)
	c.expect(`q ends`)
	c.typing("q")
	c.expect(chosen)
	c.typing("n")
	c.expect(`Reason`)
	c.typing("\r")
	c.expect(`dropped: `)
}
