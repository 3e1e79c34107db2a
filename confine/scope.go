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

// Scope implements tongs.Scoped: the roots as the caller may use them, and the paths in them that rules keep from programs.
func (c *commands) Scope(readOnly bool) (string, error) {
	var p sandbox.Policy
	c.roots(&p, readOnly)
	if err := c.ruled(&p, c.grant); err != nil {
		return "", err
	}
	lists := [][]string{p.Writable, p.ReadOnly, p.Hidden, p.Protected}
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
