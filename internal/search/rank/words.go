package rank

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	minWord = 2
	maxWord = 40
)

// eachWord calls yield with every word of text, in small letters: identifiers are split where the case changes, at digits
// and at underscores. Words of one letter, and numbers except short ones, are left out. What yield is given is valid
// during its call only. It returns the buffer that it used, for the next time.
func eachWord(text, buf []byte, yield func(word []byte)) []byte {
	for i := 0; i < len(text); {
		class := classOf(text[i])
		if class == other {
			i++
			continue
		}
		end := i + 1
		switch class {
		case upper:
			for end < len(text) && classOf(text[end]) == upper {
				end++
			}
			if end < len(text) && classOf(text[end]) == lower {
				if end-i > 1 { // the S of HTTPServer begins a word
					end--
				} else {
					end = run(text, end, lower)
				}
			}
		default:
			end = run(text, end, class)
		}
		if n := end - i; n >= minWord && n <= maxWord && (class != number || n <= 4) {
			buf = small(buf[:0], text[i:end], class)
			yield(buf)
		}
		i = end
	}
	return buf
}

func run(text []byte, i int, class byte) int {
	for i < len(text) && classOf(text[i]) == class {
		i++
	}
	return i
}

const (
	other = iota
	lower
	upper
	number
)

// classOf returns what a byte is in a word. Letters beyond ASCII count as small ones.
func classOf(c byte) byte { return classes[c] }

var classes = func() (t [256]byte) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z' || c >= 0x80:
			t[c] = lower
		case c >= 'A' && c <= 'Z':
			t[c] = upper
		case c >= '0' && c <= '9':
			t[c] = number
		}
	}
	return t
}()

func small(buf, word []byte, class byte) []byte {
	plain := true
	for _, c := range word {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		plain = plain && c < utf8.RuneSelf
		buf = append(buf, c)
	}
	if class != number && !plain {
		return append(buf[:0], strings.ToLower(string(word))...)
	}
	return buf
}

// wordsOf returns the stems of the words in s.
func wordsOf(s string) (list []string) {
	eachWord([]byte(s), nil, func(w []byte) { list = append(list, stem(string(w))) })
	return list
}

// stem returns the beginning of a word that its forms share: compute, computed and computing have comput. It is always a
// beginning, so that a text without the stem has no form of the word.
func stem(w string) string {
	const shortest = 3
	cut := func(suffix string, from int) bool {
		if len(w) >= from && len(w)-len(suffix) >= shortest && strings.HasSuffix(w, suffix) {
			w = w[:len(w)-len(suffix)]
			return true
		}
		return false
	}
	switch {
	case cut("ies", 6):
		return w
	case strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") || strings.HasSuffix(w, "is"):
	default:
		cut("s", 4)
	}
	switch {
	case cut("ing", 6), cut("ed", 5), cut("er", 6), cut("or", 6):
		if n := len(w); n > shortest && w[n-1] == w[n-2] && strings.IndexByte("lsz", w[n-1]) < 0 { // stopped
			w = w[:n-1]
		}
		cut("e", 4)
	case cut("ion", 7), cut("y", 5), cut("e", 4):
	}
	return w
}

// idle are words of questions that say nothing about code, soft those that say little.
var idle = set(`the a an is are was were be been am of in on at to for from by with and or it its this that these those there i we you they my our
	can could should would will shall may might must has have had do does did done where what which who whom whose how when why find show tell me us give
	look locate located location defined define defines definition definitions declared declare declaration implemented implement implements
	implementation happen happens happening happened code codebase source place places somewhere please exactly actually into onto within about if then than
	as so but also any some all each every thing things stuff way use uses used using logic part responsible`)

var soft = set(`handle handles handled handling handler function functions func method methods class classes struct type types interface constant variable
	file files make makes made making create creates created call calls called work works worked perform performs performed run runs
	get gets set sets new value values data return returns`)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// groups are words that programs use for the same thing.
const groups = `
	dir directory folder
	delete remove rm unlink erase
	config configuration setting conf
	error err failure
	context ctx
	request req
	response resp reply
	message msg
	argument arg parameter param
	environment env
	command cmd
	function func fn
	database db
	repository repo
	temporary temp tmp
	address addr
	connection conn connect
	buffer buf
	authentication auth authenticate login
	authorization authorize permission
	initialize init initialise setup
	index idx
	previous prev
	destination dest dst
	copy clone duplicate
	start begin launch
	stop shutdown halt
	quit exit
	symlink readlink symbolic
	image img picture
	button btn
	execute exec
	process proc
	synchronize sync
	asynchronous async
	cache memoize
	encrypt cipher
	hash digest checksum
	allocate alloc
	statistics stats
	ignore exclude
	allow permit
	deny refuse reject
	timeout deadline
	retry backoff
	validate verify
	parse parser
	decode unmarshal deserialize
	encode marshal serialize
	color colour
	normalize normalise canonical
	maximum max
	minimum min
	password passwd
	version ver
	token tok
	character char rune
	expression expr
	statement stmt
	declaration decl
	attribute attr
	register registry
	escape quote
	concurrent parallel
	approve approval
`

// alike returns the stems that may stand for a stem.
var alike = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.SplitSeq(groups, "\n") {
		group := strings.Fields(line)
		for _, w := range group {
			for _, v := range group {
				if a, b := stem(w), stem(v); a != b {
					m[a] = append(m[a], b)
				}
			}
		}
	}
	return m
})

// compact returns a name without what may be written either way: case and underscores.
func compact(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
