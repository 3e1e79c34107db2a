package gitrelay

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// decider answers what a permit is asked for.
type decider struct {
	asked  []tongs.More
	refuse func(tongs.More) bool
}

func (d *decider) Decide(_ context.Context, more tongs.More) ([]tongs.Effect, error) {
	d.asked = append(d.asked, more)
	if d.refuse(more) {
		return nil, tongs.Errorf(tongs.CodeDenied, "a person declined the call")
	}
	return more.Effects, nil
}

func (*decider) Ruled(tongs.EffectKind, *tongs.Path) (func(tongs.Path) bool, bool) { return nil, false }
func (*decider) Note(tongs.NoteKind, string)                                       {}

// A name is looked up only once its host was decided. One that leads to an address of this network is another question, also for a remote
// of the repository itself; one that leads to where clouds hand out credentials is refused.
func TestPrivateNames(t *testing.T) {
	for name, c := range map[string]struct {
		addresses []string
		own       bool
		refuse    func(tongs.More) bool
		asked     []string
		resolved  bool
	}{
		"declined": {
			addresses: []string{"10.0.0.1"}, refuse: func(tongs.More) bool { return true },
			asked: []string{"git would read https://git.corp.example/you/shop"},
		},
		"private": {
			addresses: []string{"10.0.0.1"}, refuse: private, resolved: true,
			asked: []string{"git would read https://git.corp.example/you/shop", "git would connect to https://git.corp.example/you/shop; it resolves to 10.0.0.1"},
		},
		"its own remote": {
			addresses: []string{"192.168.1.9"}, own: true, refuse: private, resolved: true,
			asked: []string{"git would read https://git.corp.example/you/shop", "git would connect to https://git.corp.example/you/shop; it resolves to 192.168.1.9"},
		},
		"of a cloud": {
			addresses: []string{"169.254.169.254"}, refuse: func(tongs.More) bool { return false }, resolved: true,
			asked: []string{"git would read https://git.corp.example/you/shop"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			resolved, dialled := false, []string{}
			guard := &network.Guard{
				Resolve: func(context.Context, string) (list []netip.Addr, err error) {
					resolved = true
					for _, a := range c.addresses {
						list = append(list, netip.MustParseAddr(a))
					}
					return list, nil
				},
				Dial: func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
					dialled = append(dialled, addr.String())
					return nil, net.ErrClosed
				},
			}
			d := &decider{refuse: c.refuse}
			relay := New(Options{Dir: t.TempDir(), Environ: []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin"}, Remotes: func(context.Context) []string {
				if c.own {
					return []string{"https://git.corp.example/you/shop"}
				}
				return nil
			}})
			no := func(string) bool { return false }
			s := relay.Session(Call{
				Permit: tongs.NewPermit(t.Context(), &tongs.Call{Tool: "shell"}, nil, nil, d), Guard: guard, Private: no, Limited: no,
				Hold: func(context.Context) func() { return func() {} },
			})
			target, err := network.ParseTarget("git.corp.example", 443)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			s.serve(w, httptest.NewRequest(http.MethodGet, "/you/shop/info/refs?service=git-upload-pack", nil), "https", target)
			var asked []string
			for _, more := range d.asked {
				message, _, _ := strings.Cut(more.Message, ", ")
				asked = append(asked, message)
			}
			if !slices.Equal(asked, c.asked) || resolved != c.resolved || len(dialled) != 0 || w.Code == http.StatusOK {
				t.Errorf("asked %q, resolved %v, dialled %v, answered %d", asked, resolved, dialled, w.Code)
			}
		})
	}
}

// private refuses what leads to an address of this machine or network.
func private(more tongs.More) bool {
	return slices.ContainsFunc(more.Effects, func(e tongs.Effect) bool { return e.Private })
}
