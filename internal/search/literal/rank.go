package literal

// rank says how common a byte is in source code and prose: 8 times the logarithm of its share, to base 2, plus 192. It
// was counted over 275 MB of Go, C, Python, documentation and configuration. Bytes of other scripts count as middling,
// for in a text of such a script they are all there is.
var rank = [256]uint8{
	8, 8, 8, 8, 8, 8, 8, 8, 8, 140, 150, 8, 8, 120, 8, 8,
	8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
	171, 101, 133, 122, 98, 101, 105, 122, 138, 138, 131, 110, 141, 128, 140, 143,
	140, 136, 132, 128, 126, 125, 126, 120, 124, 124, 133, 120, 124, 132, 124, 78,
	96, 136, 123, 135, 129, 139, 129, 124, 119, 137, 101, 114, 134, 128, 135, 135,
	133, 104, 136, 141, 138, 125, 120, 112, 124, 116, 100, 115, 109, 115, 79, 150,
	115, 153, 136, 148, 147, 160, 143, 139, 142, 154, 116, 131, 148, 141, 153, 153,
	145, 116, 153, 154, 157, 144, 130, 128, 134, 135, 111, 122, 105, 122, 73, 8,
	99, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90,
	90, 90, 90, 90, 95, 90, 90, 90, 90, 90, 90, 90, 95, 90, 90, 90,
	99, 90, 90, 90, 90, 90, 90, 90, 90, 95, 90, 90, 90, 90, 90, 90,
	90, 90, 90, 90, 90, 90, 90, 95, 90, 90, 90, 90, 90, 90, 90, 90,
	8, 8, 105, 105, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 99, 99,
	105, 105, 90, 90, 90, 90, 90, 99, 99, 99, 90, 90, 90, 90, 90, 90,
	99, 99, 105, 105, 105, 105, 105, 105, 105, 99, 99, 99, 99, 99, 90, 99,
	90, 90, 90, 90, 90, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
}

// Rarity estimates how many bits of choice a literal has: the higher, the fewer places hold it by chance. A common
// letter has about 4, a rare sign 10. Letters of a word are not independent of each other, so only the rarest four bytes
// count in full and the rest a little.
func Rarity(lit string, fold bool) int {
	var best [4]int
	for i := range len(lit) {
		bits := (192 - commonness(lit[i], fold)) / 8
		for j := range best {
			if bits > best[j] {
				best[j], bits = bits, best[j]
			}
		}
	}
	sum := 0
	for _, bits := range best {
		sum += bits
	}
	return sum + max(0, len(lit)-len(best))
}

// commonness is the rank of a byte, together with its other case where fold is set.
func commonness(c byte, fold bool) int {
	r := int(rank[c])
	if fold && isLetter(c) {
		if other := int(rank[c^0x20]); other > r {
			r = other
		}
		r += 4
	}
	return r
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
