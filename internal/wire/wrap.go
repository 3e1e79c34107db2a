package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
)

// Wrapping is what an MCP server of another client may do in the sandbox.
type Wrapping struct {
	// Network are the hosts it may reach; Read and Write further directories; Env the names of variables it gets.
	Network, Read, Write, Env []string
	// ReadOnly keeps it from writing to the workspace.
	ReadOnly bool
	allowed  map[string]bool
}

// Check looks at what a person wrote, and makes directories absolute.
func (w *Wrapping) Check() error {
	w.allowed = map[string]bool{}
	for _, host := range w.Network {
		t, err := network.ParseTarget(host, 443)
		if err != nil {
			return err
		}
		w.allowed[t.Name()] = true
	}
	for _, dirs := range [][]string{w.Read, w.Write} {
		for i, dir := range dirs {
			dir, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			if _, err := os.Stat(dir); err != nil {
				return fmt.Errorf("%s cannot be given to the program: %w", dir, err)
			}
			dirs[i] = dir
		}
	}
	return nil
}

// extend adds to what a command of a tool may do what the program is given.
func (w *Wrapping) extend(policy *sandbox.Policy) {
	policy.Limits.Wall, policy.Limits.CPU, policy.Limits.Output = -1, -1, -1 // it goes on for as long as its client does
	for _, name := range w.Env {
		if value, ok := os.LookupEnv(name); ok {
			policy.Env = append(policy.Env, name+"="+value)
		}
	}
	policy.Readable = append(policy.Readable, w.Read...)
	for _, dir := range w.Write {
		policy.Writable = append(policy.Writable, sandbox.Decided(dir))
	}
}

// Wrapped is how a wrapped program ended.
type Wrapped struct {
	Result *sandbox.Result
	// Hosts are those it was kept from.
	Hosts []string
	// Held are the protected names it made, which are moved away; Left says which are still there.
	Held []tongs.Held
	Left []string
}

// Wrap runs a program in the sandbox with its streams passed through. Nothing is asked and nothing is logged. Check comes first.
func (h Host) Wrap(ctx context.Context, w *Wrapping, argv []string, cmd *sandbox.Cmd) (*Wrapped, error) {
	if w.allowed == nil {
		return nil, errors.New("wrap: the options were not checked")
	}
	o, err := h.OpenOwn(ctx, &tongs.Command{
		Argv: argv, Dir: tongs.Path{Rel: "."}, ReadOnly: w.ReadOnly, Server: strings.Join(append([]string{"wrap"}, argv...), "\x00"),
	})
	if err != nil {
		return nil, err
	}
	defer o.Close()
	w.extend(&o.Policy)
	denied := &hostSet{seen: map[string]bool{}}
	o.Policy.Network = sandbox.Network{Mode: sandbox.NetworkProxy, Serve: (&network.Proxy{
		Guard: &network.Guard{},
		Decide: func(_ context.Context, t network.Target) network.Decision {
			if w.allowed[t.Name()] {
				return network.Decision{Private: true}
			}
			denied.add(t.Name())
			return network.Decision{Err: tongs.Errorf(tongs.CodeBlocked, "%s is not among the hosts of --network", t.Name())}
		},
	}).Serve}
	proc, err := o.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	res, err := proc.Wait()
	if res == nil {
		return nil, err
	}
	held, left := o.Finish(res)
	return &Wrapped{Result: res, Hosts: denied.list, Held: held, Left: left}, nil
}

// hostSet keeps names once, in the order they came.
type hostSet struct {
	mu   sync.Mutex
	seen map[string]bool
	list []string
}

func (h *hostSet) add(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.seen[name] && len(h.list) < 100 {
		h.seen[name] = true
		h.list = append(h.list, name)
	}
}
