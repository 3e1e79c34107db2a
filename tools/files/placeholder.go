package files

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/tongs-ai/tongs"
)

var (
	// commentLine is a line that is a comment as a whole, or words in brackets or after an ellipsis. What stands apart
	// from the comment's mark, by a tab or several spaces, is an example in it.
	commentLine = regexp.MustCompile(`^(?://+|#+|--+|;+|%+|/\*+|\{/\*|<!--|\*) ?(\S.*?)\s*(?:\*+/\}?|-->)?$` +
		`|^\[(.*)\]$|^\((.*)\)$|^((?:\.\.\.|…).*)$`)
	ellipsis = regexp.MustCompile(`^(?:\.{3}|…)(?:[^.…]|$)|(?:^|[^.…])(?:\.{3}|…)$`)
	// leftOut are the words of a line that stands for text its writer did not write.
	leftOut = regexp.MustCompile(`(?i)\b(?:existing|unchanged|omitted|remaining|previous|rest of|remainder of|as before|same as|` +
		`other (?:code|methods|functions|imports|fields|lines))\b`)
	// plainly are such lines without an ellipsis: "rest of the code unchanged", "existing code here", "code unchanged".
	plainly = regexp.MustCompile(`(?i)^(?:` +
		`(?:the )?(?:rest|remainder) of (?:the |this |your )?(?:existing )?(?:original )?` +
		`(?:file|code|function|class|method|component|module|implementation|content)s?(?: here| below)?` +
		`(?: (?:is|are|remains?|stays?))?(?: unchanged| the same| omitted| as before| goes here)?` +
		`|(?:keep )?(?:all )?(?:the )?(?:existing|remaining|previous|other|original) ` +
		`(?:code|imports|methods|functions|implementation|content|lines)` +
		`(?: (?:here|goes here|unchanged|(?:is|are|remains?|stays?) (?:unchanged|the same|here)|omitted))?` +
		`|(?:code|file|no changes?|unchanged)(?: (?:remains|is|stays|code|here|below|above))* ?(?:unchanged|the same|omitted)` +
		`)\.?$`)
)

// prose are the extensions of files in which a lone ellipsis is likely meant.
var prose = map[string]bool{".md": true, ".markdown": true, ".txt": true, ".rst": true, ".adoc": true, ".html": true}

// placeholder returns the first line of the new text that stands for text its writer left out, with its number. What
// the old text has too is meant.
func placeholder(name, old, new string) (line string, number int) {
	number = 0
	for l := range strings.SplitSeq(new, "\n") {
		number++
		l = strings.TrimSpace(l)
		if len(l) > 120 || !isPlaceholder(l, prose[strings.ToLower(path.Ext(name))]) {
			continue
		}
		if !hasLine(old, l) {
			return l, number
		}
	}
	return "", 0
}

// maxWords is the most words of a placeholder; what says more is a comment.
const maxWords = 10

func isPlaceholder(line string, prose bool) bool {
	m := commentLine.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	comment := m[1] != ""
	body := cmp.Or(m[1], m[2], m[3], m[4])
	bare := strings.TrimSpace(strings.Trim(body, ".…"))
	switch {
	case bare == "":
		// A comment of nothing but an ellipsis; three dots alone, or in brackets, are Python.
		return comment && !prose && ellipsis.MatchString(body)
	case len(strings.Fields(bare)) > maxWords:
		return false
	case ellipsis.MatchString(body) && leftOut.MatchString(bare):
		return true
	default:
		return m[4] == "" && plainly.MatchString(bare)
	}
}

// hasLine reports whether the text has the line, ignoring white space around it.
func hasLine(text, line string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], line)
		if i < 0 {
			return false
		}
		at += i
		start := strings.LastIndexByte(text[:at], '\n') + 1
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text) - at
		}
		if strings.TrimSpace(text[start:at+end]) == line {
			return true
		}
		at += len(line)
	}
}

// refusePlaceholder is the error for a new text with a placeholder in it, nil where there is none.
func refusePlaceholder(argument, name, old, new string) error {
	line, number := placeholder(name, old, new)
	if line == "" {
		return nil
	}
	return tongs.Errorf(tongs.CodeInvalidArgs, "line %d of %s (%q) stands for text that was left out, and would be written as it is; "+
		"give the full text, or edit only the lines that change", number, argument, line)
}
