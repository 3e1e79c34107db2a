package sandbox

import (
	"context"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// Probe is what this machine can enforce, found out by trying.
type Probe struct {
	Platform string       `json:"platform"`
	Kernel   string       `json:"kernel"`
	User     int          `json:"user"`
	Landlock int          `json:"landlock"`
	Launcher string       `json:"launcher"`
	Tiers    []TierStatus `json:"tiers"`
	// Limits says how each limit is held: by a control group, or by what stands in for it.
	Limits map[string]string `json:"limits"`
}

// TierStatus is what became of trying one tier.
type TierStatus struct {
	Tier string `json:"tier"`
	OK   bool   `json:"ok"`
	// Layers hold, Missing do not. Properties are what the tier enforces as a whole.
	Layers     []string   `json:"layers,omitempty"`
	Missing    []string   `json:"missing,omitempty"`
	Properties []Property `json:"properties,omitempty"`
	// Reason and Fix are set for a tier that does not work: why, and what to do about it.
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// Probe returns what this machine can enforce. The first call tries it; later ones return the same.
func (r *Runner) Probe(ctx context.Context) Probe {
	r.probing.Lock()
	defer r.probing.Unlock()
	if r.probed == nil {
		p := r.try(ctx)
		if ctx.Err() != nil {
			return p // cut short: it says nothing about the machine
		}
		r.probed = &p
	}
	return *r.probed
}

// status returns what is known of a tier.
func (p *Probe) status(tier string) *TierStatus {
	for i := range p.Tiers {
		if p.Tiers[i].Tier == tier {
			return &p.Tiers[i]
		}
	}
	return nil
}

// tierFor returns the best tier that enforces what a policy requires, or the refusal.
func (r *Runner) tierFor(ctx context.Context, pol *Policy) (string, error) {
	p := r.Probe(ctx)
	if err := ctx.Err(); err != nil {
		return "", tongs.Errorf(tongs.CodeCancelled, "the command was not started: %w", err)
	}
	var why, fixes []string
	for _, t := range p.Tiers {
		if !t.OK {
			why = append(why, "tier "+t.Tier+": "+t.Reason)
			fixes = append(fixes, t.Fix)
			continue
		}
		var lacks []string
		for _, req := range pol.Require {
			if !slices.Contains(t.Properties, req) {
				lacks = append(lacks, string(req))
			}
		}
		if pol.Network.Mode == NetworkProxy && t.Tier != TierA {
			lacks = append(lacks, "network rules by host")
		}
		if pol.Overlay != nil && t.Tier != TierA {
			lacks = append(lacks, "holding back what is written")
		}
		if len(lacks) == 0 {
			return t.Tier, nil
		}
		why = append(why, "tier "+t.Tier+" does not enforce "+strings.Join(lacks, ", "))
	}
	if len(why) == 0 {
		why = append(why, "there is none for "+p.Platform)
		fixes = append(fixes, "Run Tongs in WSL 2 or in a Linux virtual machine.")
	}
	fix := strings.Join(slices.Compact(slices.DeleteFunc(fixes, func(s string) bool { return s == "" })), " ")
	if fix == "" {
		fix = "Require less in the policy, or run without a sandbox by an explicit setting."
	}
	return "", tongs.Errorf(tongs.CodeSandboxUnavailable, "this machine cannot sandbox the command (%s). %s", strings.Join(why, "; "), fix).
		With("probe", p)
}
