package journal

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/tongs-ai/tongs"
)

// Net is what a transaction would do to one path of the disk, or to where something comes to.
type Net struct {
	Path tongs.Path
	// From is where it is moved from.
	From *tongs.Path
	// Before and After are states as far as they are known without reading files. After has a hash where it comes from
	// the journal.
	Before, After State
	// Top is set where nothing above it goes or comes as a whole.
	Top bool
}

// Net returns what the transaction would do, in the order of the paths of what goes, then of what comes. It changes
// nothing.
func (t *Txn) Net(ctx context.Context) (list []Net, err error) {
	pl, err := t.plan()
	if err != nil {
		return nil, err
	}
	leaves := map[tongs.Path]bool{}
	for _, o := range pl.outs {
		leaves[o.path] = true
	}
	for _, o := range pl.outs {
		if !o.kept {
			continue
		}
		err := t.disk.each(ctx, o.path, func(p tongs.Path) bool { return leaves[p] },
			func(p tongs.Path, _ *os.Root, _ string, fi fs.FileInfo) error {
				list = append(list, Net{Path: p, Before: stateOf(fi), Top: p == o.path})
				return nil
			})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.path, err)
		}
	}
	for _, i := range pl.ins {
		n := Net{Path: i.path, Top: true}
		if i.swap != nil {
			n.Before = stateOf(i.swap)
		}
		if i.node.kind == there {
			from := i.node.at
			n.From = &from
			if fi, err := t.disk.lstat(from); err == nil && fi != nil {
				n.After = stateOf(fi)
			}
			list = append(list, n)
			continue
		}
		list = netMade(list, n, i.node)
	}
	for _, m := range pl.modes {
		if !m.quiet {
			after := m.state
			after.Mode = m.new
			list = append(list, Net{Path: m.path, Before: m.state, After: after, Top: true})
		}
	}
	return list, nil
}

func netMade(list []Net, n Net, from *node) []Net {
	n.After = from.state
	list = append(list, n)
	for _, name := range from.sorted() {
		if child := from.names[name]; child.kind == made {
			list = netMade(list, Net{Path: n.Path.Join(name)}, child)
		}
	}
	return list
}
