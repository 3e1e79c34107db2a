package index

// The keys of trigrams: three codes of six bits, and whether one of the bytes is a large letter.
const (
	codeBits = 6
	codeMask = 1<<(3*codeBits) - 1
	large    = 1 << (3 * codeBits)
	keys     = 2 * large
	// either, in a query, asks for both forms of a key.
	either = 1 << 31
)

// none is the code of bytes that are part of no trigram.
const none = 0

// codes and larges are the alphabet, by byte.
var codes, larges = alphabet()

func alphabet() (code, large [256]uint8) {
	next := uint8(1)
	give := func(classes ...string) {
		for _, class := range classes {
			for _, c := range []byte(class) {
				code[c] = next
			}
			next++
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		give(string([]byte{c, c - 'a' + 'A'}))
		large[c-'a'+'A'] = 1
	}
	for c := byte('0'); c <= '9'; c++ {
		give(string(rune(c)))
	}
	give("_", " ", "\t", ".", ",", "(", ")", "{", "}", "[", "]", `"`, "'", ":", ";", "=", "-", "*", "/", "<", ">")
	give("+&|", "!#?", "$%@\\^~`")
	for c := 0x80; c < 0x100; c++ { // what is not ASCII: three classes are left
		code[c] = next + uint8(c%3)
	}
	return code, large
}

// isLetter reports whether a byte is an ASCII letter.
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// trigrams returns the keys of a text, each once. With fold they are those of the text in any case; characters outside
// ASCII are left out then.
func trigrams(text string, fold bool) (list []uint32) {
	key, letters, caps, run := uint32(0), uint8(0), uint8(0), 0
	seen := map[uint32]bool{}
	for i := range len(text) {
		c := text[i]
		code := codes[c]
		if code == none || fold && c >= 0x80 {
			run = 0
			continue
		}
		key = (key<<codeBits | uint32(code)) & codeMask
		letters, caps = letters<<1&7, caps<<1&7
		if isLetter(c) {
			letters |= 1
		}
		caps |= larges[c]
		if run++; run < 3 {
			continue
		}
		k := key
		switch {
		case fold && letters != 0:
			k |= either
		case !fold && caps != 0:
			k |= large
		}
		if !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	return list
}
