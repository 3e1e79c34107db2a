package main

// query is one line of the table.
type query struct {
	name, pattern string
	fold          bool
	// literal says that every match holds a literal of three bytes or more.
	literal bool
}

var queries = []query{
	{"literal, no hit", "xqzvjkwpqx", false, true},
	{"literal, few", "ErrBadConnPool|unlikely", false, true},
	{"literal, rare", "InsecureSkipVerify", false, true},
	{"literal, common start", "intentionally", false, true},
	{"literal, many", "return nil", false, true},
	{"literal, huge", "import", false, true},
	{"regex, literal prefix", `func \(\w+ \*Server\) \w+\(`, false, true},
	{"regex, inner literal", `\w+_probe_\w+\(`, false, true},
	{"regex, literal suffix", `[A-Z][a-z]+_timeout`, false, true},
	{"alternation of 4", "ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT", false, true},
	{"alternation of 8", "panic|recover|goroutine|deadlock|mutex|semaphore|waitgroup|atomic", false, true},
	{"ignoring case", "insecureskipverify", true, true},
	{"ignoring case, k and s", "socket_keepalive", true, true},
	{"word", `\bTODO\b`, false, true},
	{"word, common", `\berr\b`, false, true},
	{"anchored", `^package main$`, false, true},
	{"two literals", `Copyright.*Google`, false, true},
	{"short literals only", `^\s*[a-z]+\([a-z]+, [0-9]+\);$`, false, false},
	{"no literal", `\w{5}\s+\w{5}\s+\w{5}\s+\w{5}\s+\w{5}`, false, false},
	{"no literal, Unicode", `[α-ω]{3,}`, false, false},
}
