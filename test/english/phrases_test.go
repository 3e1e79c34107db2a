package english

import "regexp"

// phrase is a turn of phrase that is not to be used.
type phrase struct {
	name string
	re   *regexp.Regexp
	// instead is what to write.
	instead string
}

// phrases are what readers found stilted. Names stand in testdata/allowed.txt, so that an expression can be widened.
var phrases = []phrase{
	ban("change holds", `\b(changed?|changes|alone|nothing)( do not| does not)? holds?\b|\bnot hold yet\b|\b(nothing|none) of (it|this) holds?\b`, "changes are kept or dropped"),
	ban("may hold", `\bmay( not)? hold\b`, "Which changes do you want to keep?"),
	ban("speak of", `\bspeaks? of\b`, "No rule covers X"),
	ban("no word", `\bha(s|ve) no word\b|\b(no|a) word about\b`, "Workspace files cannot set this; only a setting for the whole tool does"),
	ban("word of yours", `\bword of yours\b`, "Your rules take precedence"),
	ban("is known", `\b[Nn]o [\w ]{1,30}\b(is|are) known\b`, "No changes yet"),
	ban("by itself", `\bby itself\b`, "turns (default 50); automatically"),
	ban("vouch", `\b[Vv]ouch(ed|es|ing)?\b`, "FILE is not trusted, or it changed since you trusted it"),
	ban("help it can", `\bthat it has help it\b`, "a sub-worker never has more permissions than its caller"),
	ban("waited for", `\b(was|were|is|are) waited for\b`, "approval wait times"),
	ban("with how many", `\b[Ww]ith how many of\b`, "Calls each rule applied to"),
	ban("told by", `\b(is|are) told by\b`, "are renamed and mapped back"),
	ban("links neither", `\blinks neither\b`, "adds no database and no UI"),
	ban("whichever", `\bof whichever\b`, "by any tool"),
	ban("take back what", `\b[Tt]akes? back what\b|\bbrings? it again\b`, "undoes or redoes changes"),
	ban("while they do it", `\bwhile (they|it) (do|does) it\b`, "watch your agents live"),
	ban("asks nothing of", `\basks? nothing of\b`, "contacts no other server"),
	ban("finds the place", `\bfinds the place also\b`, "tolerates wrong indentation"),
	ban("as Go has them", `\bas Go has them\b`, "Go regular expressions, paginated"),
	ban("is a file", `\b(agent|worker)s? that (is|are) (a file|files)\b`, "an agent defined in a file"),
	ban("say what", `^Say (what|which|how)\b`, "Show what a call would do, without running it"),
	ban("otherwise", `\b(decided?|does so|do so|judged?|answered?) otherwise\b`, "would have decided differently"),
	ban("make of", `\bMake a custom tool of\b`, "Import a custom tool (unapproved)"),
	ban("asked about again", `\bhas it asked about\b`, "any change needs a new approval"),
	ban("how much is asked", `\bhow much is asked\b`, "approval mode: safe (follow the rules), none (always ask), all (ask only where required)"),
	ban("was decided by", `\bwhat it was decided by\b`, "the decision could not be logged"),
	ban("made ready", `\b(could|can) not be made ready\b|\bcannot be made ready\b`, "name what failed, and what to do"),
	ban("it does not exist", `: it does not exist\b`, `path "nope" does not exist`),
	ban("nobody could be asked", `\bnobody (could|can|could have) be(en)? asked\b`, "needs a person's approval: reading .env (secrets)"),
	ban("mores", `\bmores\b`, "9 more below"),
}

func ban(name, expr, instead string) phrase {
	return phrase{name: name, re: regexp.MustCompile(expr), instead: instead}
}
