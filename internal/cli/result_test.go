package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestStreamedOutputIsNotShownTwice(t *testing.T) {
	long := strings.Repeat("0123456789abcdef\n", maxShown/17+10)
	for _, tc := range []struct {
		name, streamed, text, rest string
		ok                         bool
	}{
		{"nothing", "", "out", "", false},
		{"the same", "out\n", "out", "", true},
		{"a remark", "out\n", "out\n(exit code 1)", "\n(exit code 1)", true},
		{"another text", "out\n", "[stderr]\nout", "", false},
		{"cut", long + "end\n", "0123\n[9 bytes left out]\n" + long[len(long)-2*maxTail:] + "end\n(exit code 1)", "\n(exit code 1)", true},
		{"cut otherwise", long, "0123", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s streamed
			for chunk := range strings.SplitAfterSeq(tc.streamed, "\n") {
				s.add(chunk)
			}
			if rest, ok := s.after(tc.text); ok != tc.ok || ok && rest != tc.rest {
				t.Errorf("%.60q %v, want %q %v", rest, ok, tc.rest, tc.ok)
			}
		})
	}
}

func TestOutputIsNotStreamedBesideAPipe(t *testing.T) {
	var out, err bytes.Buffer
	p := Printer{Out: &out, Err: &err}
	sink := p.Sink("text")
	sink(tongs.Update{Text: "out\n"})
	sink(tongs.Update{Title: "half way"})
	if e := p.Result(&tongs.Result{Content: "out\n"}, "text"); e != nil {
		t.Fatal(e)
	}
	if out.String() != "out\n" || err.String() != "half way\n" {
		t.Errorf("out %q, err %q", out.String(), err.String())
	}
}

func TestFailedResultKeepsItsContent(t *testing.T) {
	res := &tongs.Result{Content: "Instructions of the worker x", Error: tongs.Errorf(tongs.CodeLLMAssistRequired, "no model"), Metadata: map[string]any{"prompt": "p"}}
	var out bytes.Buffer
	p := Printer{Out: &out, Err: &out}
	if err := p.Result(res, "json"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		OK       bool
		Content  string
		Metadata map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.OK || got.Content != res.Content || got.Metadata["prompt"] != "p" {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestListOfToolsHasOneLineEach(t *testing.T) {
	var out bytes.Buffer
	p := Printer{Out: &out}
	if err := p.Tools([]*tongs.Spec{{Name: "x", Description: "Does x\nand y.\n\nMore."}}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || !strings.HasSuffix(lines[1], "Does x and y.") {
		t.Errorf("%q", lines)
	}
}
