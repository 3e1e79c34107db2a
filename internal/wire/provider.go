package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/registry"
)

// refreshEvery is how often a program that lives on looks for tools that changed by other hands than its own.
const refreshEvery = 2 * time.Second

// provide makes p the provider of the tools of a kind, unless there was an error. It is closed with the system.
func (s *System) provide(kind tongs.SourceKind, p engine.Provider, err error) error {
	if err != nil {
		return err
	}
	if s.providers == nil {
		s.providers = map[tongs.SourceKind]engine.Provider{}
	}
	s.providers[kind] = p
	return nil
}

// refresh takes up tools that changed, so that clients are told before their next call.
func (s *System) refresh() {
	if e := s.ready.Load(); e != nil {
		_ = e.Refresh(context.Background()) // the error is that the context ended, which this one does not
	}
}

// follow refreshes now and then, in a program that lives on.
func (s *System) follow() {
	if !s.opt.Lives {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.unfollow = cancel
	go func() {
		tick := time.NewTicker(refreshEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = s.Engine.Refresh(ctx)
			}
		}
	}()
}

// closeProviders ends what the providers run.
func (s *System) closeProviders() error {
	if s.unfollow != nil {
		s.unfollow()
	}
	var errs []error
	for _, p := range s.providers {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// States are what is known of every source of tools that a person reviews, by kind and in the order of each provider. A
// tool that is not offered is broken.
func (s *System) States() (list []tongs.SourceState) {
	for _, kind := range slices.Sorted(maps.Keys(s.providers)) {
		list = append(list, s.StatesOf(kind)...)
	}
	return list
}

// StatesOf are those of one kind.
func (s *System) StatesOf(kind tongs.SourceKind) []tongs.SourceState {
	p, ok := s.providers[kind].(engine.Reviewable)
	if !ok {
		return nil
	}
	list := p.States()
	for _, f := range s.Engine.Faults() {
		for i := range list {
			st := &list[i]
			at := slices.IndexFunc(st.Tools, func(t tongs.ToolState) bool { return t.Name == f.Name })
			if f.Kind != kind || f.Source != st.Name || at < 0 {
				continue
			}
			why := f.Err.Error()
			if errors.Is(f.Err, registry.ErrUnapproved) && st.Tools[at].Status != tongs.StatusReady {
				st.Tools[at].Detail += "; " + why // its status tells what to do
				continue
			}
			if t := st.Tools[at]; t.Status == tongs.StatusBroken {
				why += "; " + t.Detail
			}
			st.Tools[at].Status, st.Tools[at].Detail = tongs.StatusBroken, why
			if len(st.Tools) == 1 && st.Name == f.Name { // the source is the tool
				st.Status, st.Detail = tongs.StatusBroken, why
			}
		}
	}
	return list
}

// nouns are what people call the sources of each kind.
var nouns = map[tongs.SourceKind]string{
	tongs.SourceForge: "custom tool", tongs.SourceModule: "module", tongs.SourceMCP: "MCP server", tongs.SourceWorker: "worker",
}

// Warnings are what a person should know about the tools that are offered, and those that are not.
func (s *System) Warnings() []string {
	var list []string
	told := map[string]bool{}
	for _, st := range s.States() {
		switch {
		case st.Status == tongs.StatusBroken, st.Status == tongs.StatusDisabled && st.Kind == tongs.SourceModule:
			list = append(list, fmt.Sprintf("the %s %s cannot be used: %s", nouns[st.Kind], st.Name, firstLine(st.Detail)))
		case st.Kind == tongs.SourceMCP: // 'tongs mcp list' and the notes of 'tongs tools' tell of its tools
			continue
		default:
			for _, t := range st.Tools {
				if t.Status == tongs.StatusBroken {
					list = append(list, fmt.Sprintf("the tool %s of the %s %s cannot be used: %s", t.Name, nouns[st.Kind], st.Name, firstLine(t.Detail)))
				}
			}
		}
		for _, t := range st.Tools {
			told[string(st.Kind)+" "+t.Name] = t.Status == tongs.StatusBroken
		}
	}
	for _, f := range s.Engine.Faults() {
		if f.Name == "" || !told[string(f.Kind)+" "+f.Name] {
			list = append(list, f.String())
		}
	}
	slices.Sort(list)
	return slices.Concat(s.Engine.Set().Warnings(), list)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
