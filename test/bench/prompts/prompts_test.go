//go:build linux

package main

import (
	"os"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs/internal/preset"
	"github.com/tongs-ai/tongs/system"
)

func TestMain(m *testing.M) {
	system.Main()
	os.Exit(m.Run())
}

// most is how many questions a session may ask under the preset for coding, besides those about git and the network.
const most = 6

// measured are the configurations that the snapshot has, the default and the preset for coding always.
func measured(counts preset.Counts) []string {
	names := []string{preset.Default, preset.Coding}
	for name := range counts {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// The snapshot keeps the promise of the preset for coding: few questions, and none that is not needed.
func TestTheSnapshotKeepsThePromise(t *testing.T) {
	counts, err := preset.Measured()
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := Sessions()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		if len(s.Calls) < 40 {
			t.Errorf("%s has %d calls only", s.Name, len(s.Calls))
		}
		for _, name := range measured(counts) {
			if c := counts[name][s.Name]; c.Calls != len(s.Calls) {
				t.Errorf("%s under %s: the snapshot has %d calls of %d; run make bench-prompts", s.Name, name, c.Calls, len(s.Calls))
			}
		}
		if c := counts[preset.Coding][s.Name]; c.Needed > most || c.Needless > 0 {
			t.Errorf("%s: %d needed and %d needless questions", s.Name, c.Needed, c.Needless)
		}
		if c := counts["unattended"][s.Name]; c.Questions() != 0 {
			t.Errorf("%s: somebody who is away is asked %d times", s.Name, c.Questions())
		}
	}
}

func TestTheREADMEShowsTheCounts(t *testing.T) {
	counts, err := preset.Measured()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := withTable(string(readme), counts); err != nil || want != string(readme) {
		t.Errorf("%v; run make bench-prompts", err)
	}
}

// Each session asks no more often than the snapshot says, every call ends as it should, and the whole session is taken back and
// brought again to the byte.
func TestCodingSessions(t *testing.T) {
	counts, err := preset.Measured()
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := Sessions()
	if err != nil {
		t.Fatal(err)
	}
	configs, err := configurations(preset.Coding, "")
	if err != nil {
		t.Fatal(err)
	}
	b, clean, err := newBench()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clean)
	for i := range sessions {
		s := &sessions[i]
		t.Run(s.Name, func(t *testing.T) {
			rep, err := b.run(t.Context(), s, configs[0].text, true)
			if rep == nil {
				t.Fatal(err)
			}
			if err != nil {
				t.Error(err)
			}
			for i, why := range rep.Failed {
				t.Errorf("call %d, %s: %s", i+1, &s.Calls[i], why)
			}
			if got, want := rep.Count(), counts[preset.Coding][s.Name]; grew(got, want) {
				rep.print(t.Output(), true)
				t.Errorf("it asks more than the snapshot: %+v, want at most %+v", got, want)
			}
		})
	}
}

// grew reports whether more is asked, missed or refused than before.
func grew(got, want preset.Count) bool {
	return got.Needed > want.Needed || got.Git > want.Git || got.Network > want.Network || got.Needless > want.Needless ||
		got.Missed > want.Missed || got.Refused > want.Refused
}
