package insight

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
)

// ForgeTool is how a custom tool has been used.
type ForgeTool struct {
	Tool     string    `json:"tool"`
	State    string    `json:"state"`
	Runs     int       `json:"runs"`
	OK       int       `json:"ok"`
	Failed   int       `json:"failed"`
	Refused  int       `json:"refused"`
	P50      int64     `json:"p50Milliseconds"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	ran      []time.Duration
}

// ForgeStats is how the forge has been used.
type ForgeStats struct {
	// Created counts tools however they were made; ByCall those that create_custom_tool made.
	Created      int          `json:"created"`
	ByCall       int          `json:"createdByCall"`
	BuildsTried  int          `json:"buildsTried"`
	BuildsOK     int          `json:"buildsSucceeded"`
	Reused       int          `json:"toolsUsedMoreThanOnce"`
	RefreshMicro int64        `json:"refreshMicroseconds"`
	Tools        []*ForgeTool `json:"tools"`
}

func (f *ForgeStats) tool(name string) *ForgeTool {
	for _, t := range f.Tools {
		if t.Tool == name {
			return t
		}
	}
	f.Tools = append(f.Tools, &ForgeTool{Tool: name, State: "gone"})
	return f.Tools[len(f.Tools)-1]
}

// CountForge counts the rows of the log that are about custom tools, and the tools that there are.
func CountForge(rows []audit.Row, now []tongs.SourceState) *ForgeStats {
	f := &ForgeStats{Tools: []*ForgeTool{}}
	for _, s := range now {
		f.tool(s.Name).State = string(s.Status)
	}
	for _, r := range rows {
		if r.Intent == nil || r.Close == nil {
			continue
		}
		ok := r.Close.Outcome == audit.OutcomeOK
		switch {
		case r.Intent.Tool == "create_custom_tool" && ok:
			f.ByCall++
			var made struct {
				Name string `json:"name"`
			}
			args := r.Args
			if len(r.Intent.Args) > 0 {
				args = r.Intent.Args
			}
			if json.Unmarshal(args, &made) == nil && made.Name != "" {
				f.tool(made.Name)
			}
		case r.Intent.Tool == "build_custom_tool" && r.Close.Outcome != audit.OutcomeRefused:
			f.BuildsTried++
			if ok {
				f.BuildsOK++
			}
		case r.Intent.Source.Kind == tongs.SourceForge:
			f.tool(r.Intent.Tool).add(r, ok)
		}
	}
	f.Created = len(f.Tools)
	for _, t := range f.Tools {
		slices.Sort(t.ran)
		if len(t.ran) > 0 {
			t.P50 = t.ran[len(t.ran)/2].Milliseconds()
		}
		if t.Runs > 1 {
			f.Reused++
		}
	}
	return f
}

func (t *ForgeTool) add(r audit.Row, ok bool) {
	if r.Close.Outcome == audit.OutcomeRefused {
		t.Refused++
		return
	}
	t.Runs++
	if ok {
		t.OK++
	} else {
		t.Failed++
	}
	t.ran = append(t.ran, r.Close.Ran)
	if r.Started.After(t.LastUsed) {
		t.LastUsed = r.Started
	}
}
