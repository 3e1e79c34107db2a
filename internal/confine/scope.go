package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox"
)

var _ tongs.Scoped = (*commands)(nil)

// Scope implements tongs.Scoped: the roots as the caller may use them, the paths in them that rules keep from programs, and
// what was decided for this call beyond that, which a program that is kept must not have for others: hosts, protected
// names, and sealed roots.
func (c *commands) Scope(readOnly bool) (string, error) {
	var p sandbox.Policy
	effects := c.permit.Effects()
	write := writing(sandbox.Decided)
	if readOnly {
		write = nil
	}
	c.roots(&p, write)
	c.names(&p, effects)
	c.seal(&p, &tongs.Command{Dir: tongs.Path{Rel: "."}}, effects)
	if err := c.ruled(&p, c.permit); err != nil {
		return "", err
	}
	var writable []string
	for _, m := range p.Writable {
		writable = append(writable, m.String())
	}
	lists := [][]string{writable, p.ReadOnly, p.Hidden, p.Protected, p.HiddenPlaces, p.ProtectedPlaces, p.Exempt, hosts(effects)}
	for _, list := range lists {
		slices.Sort(list)
	}
	data, err := json.Marshal(lists)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
