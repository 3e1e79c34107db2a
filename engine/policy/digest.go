package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/tongs-ai/tongs"
)

// digest identifies the rules that bear on any of the effects, whatever their order. Where a rule stands (its Origin)
// does not count: moving a line changes nothing about what a person approved.
func (j *judge) digest(effects ...*tongs.Effect) string {
	var sums [][sha256.Size]byte
	var buf []byte
	for link, rules := range j.in.Chain {
		for i := range rules {
			if j.bears(&rules[i], effects) {
				buf = encode(buf[:0], link, &rules[i])
				sums = append(sums, sha256.Sum256(buf))
			}
		}
	}
	slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	h := sha256.New()
	for _, sum := range slices.Compact(sums) {
		h.Write(sum[:])
	}
	return "rules:" + hex.EncodeToString(h.Sum(buf[:0])[:16])
}

func (j *judge) bears(r *tongs.Rule, effects []*tongs.Effect) bool {
	for _, e := range effects {
		j.e = e
		if j.apply(r).meets != no {
			return true
		}
	}
	return false
}

// encode writes what a rule means, each text with its length before it.
func encode(buf []byte, link int, r *tongs.Rule) []byte {
	buf = binary.AppendUvarint(buf, uint64(link))
	buf = append(buf, byte(r.Layer), byte(r.Effects), byte(clampDecision(r.Decision)), flag(r.Untrusted), flag(r.Fallback)|flag(r.Outcome)<<1|flag(r.Undoable)<<2)
	texts := []string{r.Tool, r.Toolset, r.Pattern, r.Branch}
	if r.Branch == "" {
		texts = texts[:3]
	}
	for _, s := range texts {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	return buf
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
