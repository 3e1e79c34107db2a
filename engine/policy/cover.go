package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/environ"
)

// Cover is one line of a grant: the kind of effect and the targets, as a pattern of the same form as a rule's.
type Cover struct {
	Kind    tongs.EffectKind `json:"kind"`
	Pattern string           `json:"pattern"`
	// Version binds an execute effect to the content of the program.
	Version tongs.Version `json:"version,omitempty"`
	// Private says that the host may be at an address of this machine or network.
	Private bool `json:"private,omitempty"`
}

// UnknownPattern is the pattern of a cover for the unknown effect of a tool that has no plan.
const UnknownPattern = "(unknown)"

// Covers reports whether the cover is for the effect. Deletes, data that is sent, and effects marked MustAsk or NoGrant
// are never covered, an unknown effect only by UnknownPattern, and a program only at the version that was approved.
func (c Cover) Covers(e tongs.Effect) bool {
	if c.Kind != e.Kind || c.Version != "" && c.Kind != tongs.EffectExecute || !grantable(&e) {
		return false
	}
	if c.Kind == tongs.EffectExecute && c.Version != e.Version || e.Private && !c.Private {
		return false
	}
	if opaque(&e) || c.Pattern == UnknownPattern {
		return e.Unknown && c.Pattern == UnknownPattern
	}
	return Match(c.Kind, c.Pattern, e)
}

// grantable reports whether effects like e are ever covered.
func grantable(e *tongs.Effect) bool {
	return known(e.Kind) && e.Kind != tongs.EffectDelete && !e.MustAsk && !e.NoGrant && !e.Sends
}

// Propose returns the narrowest covers for the effects: the exact path, command (at its version) or host. It returns
// nil where one of the effects can never be covered, since then nothing is worth remembering.
func Propose(effects []tongs.Effect) []Cover {
	covers := make([]Cover, 0, len(effects))
	seen := make(map[Cover]bool, len(effects))
	for i := range effects {
		c, ok := proposal(&effects[i])
		if !ok {
			return nil
		}
		if !seen[c] {
			covers, seen[c] = append(covers, c), true
		}
	}
	return covers
}

// ProposeFiles returns covers for effects of the same kinds on every file of the workspace. It returns nil where one of the
// effects is on something else, or is covered by its own name at most.
func ProposeFiles(effects []tongs.Effect) []Cover {
	var covers []Cover
	for i := range effects {
		e := &effects[i]
		c, ok := proposal(e)
		if !ok || !e.Kind.OnPath() || e.Path.Root != tongs.WorkspaceRoot || e.Steers {
			return nil
		}
		if c.Pattern = everyFile; !c.Covers(*e) {
			return nil
		}
		if !slices.Contains(covers, c) {
			covers = append(covers, c)
		}
	}
	return covers
}

// everyFile is the pattern for every path of the workspace, and of no other zone.
const everyFile = "**"

// proposal returns the narrowest cover for one effect.
func proposal(e *tongs.Effect) (c Cover, ok bool) {
	if !grantable(e) {
		return c, false
	}
	c.Kind = e.Kind
	switch {
	case e.Unknown:
		c.Pattern = UnknownPattern
	case opaque(e) || e.Kind.OnPath() && !utf8.ValidString(e.Path.Rel):
		return c, false
	case e.Repository:
		c.Pattern = escapeGlob(e.Path.Judged().String())
	case e.Kind.OnPath():
		c.Pattern = escapeGlob(e.Path.String())
	case e.Kind == tongs.EffectExecute:
		c.Pattern = writeTokens(exactTokens(e), true)
	default:
		c.Pattern, c.Private = e.Host, e.Private
	}
	if e.Kind == tongs.EffectExecute {
		c.Version = e.Version
	}
	return c, c.Validate() == nil && c.Covers(*e)
}

// ExactCommand is the pattern for exactly the command of these words.
func ExactCommand(argv []string) string {
	return writeTokens(exactTokens(&tongs.Effect{Argv: argv}), true)
}

// exactTokens are those of the pattern for exactly the command of an execute effect. What is harmless is left out, and so
// is a variable that stands among the words.
func exactTokens(e *tongs.Effect) (tokens []token) {
	for _, assignment := range e.Env {
		if !environ.Harmless(assignment) && !slices.Contains(e.Argv, assignment) {
			tokens = append(tokens, token{parts: []string{assignment}, quoted: true})
		}
	}
	for _, word := range e.Argv {
		tokens = append(tokens, token{parts: []string{word}, quoted: true})
	}
	return tokens
}

// escapeGlob spells a path as a pattern for exactly it.
func escapeGlob(name string) string {
	if !strings.ContainsAny(name, globMeta+"]}") && name != UnknownPattern {
		return name
	}
	var b strings.Builder
	for i, r := range name {
		if strings.ContainsRune(globMeta+"]}", r) || i == 0 && r == '(' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// String spells the cover as a person sees and edits it: "write src/a.go", "execute = git push origin main",
// "network api.example.com", "network npm.corp.example (private address)", "execute (unknown)". The version of a program stands before it, after an @.
func (c Cover) String() string {
	var b strings.Builder
	b.WriteString(c.Kind.String())
	if c.Version != "" {
		b.WriteString(" @" + quoteVersion(string(c.Version)))
	}
	b.WriteByte(' ')
	switch {
	case c.Pattern == UnknownPattern:
		b.WriteString(c.Pattern)
	case c.Kind == tongs.EffectExecute:
		b.WriteString(canonArgv(c.Pattern))
	case c.Pattern == "" || !printable(c.Pattern) || strings.TrimSpace(c.Pattern) != c.Pattern || c.Pattern[0] == '"':
		b.WriteString(strconv.Quote(c.Pattern))
	default:
		b.WriteString(c.Pattern)
	}
	if c.Private {
		b.WriteString(privateWord)
	}
	return b.String()
}

// privateWord follows a host that may be at an address of this machine or network.
const privateWord = " (private address)"

// quoteVersion spells a version as one word.
func quoteVersion(v string) string {
	if !printable(v) || strings.ContainsAny(v, " *'\"\\") {
		return strconv.Quote(v)
	}
	return v
}

// canonArgv spells the pattern of a command in its one form; what cannot be read stays visible as it is, quoted.
func canonArgv(pattern string) string {
	tokens, exact, err := lexAll(pattern)
	if err != nil {
		return strconv.Quote(pattern)
	}
	return writeTokens(tokens, exact)
}

// ParseCover reads a cover as String spells it. It refuses one that would cover everything, or what is never covered.
func ParseCover(text string) (Cover, error) {
	var c Cover
	kind, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if err := c.Kind.UnmarshalText([]byte(kind)); err != nil {
		return c, fmt.Errorf("%q: begin with what it covers, such as \"write src/a.go\": %w", text, err)
	}
	rest = strings.TrimSpace(rest)
	var err error
	switch {
	case c.Kind == tongs.EffectExecute:
		err = c.parseCommand(rest)
	case strings.HasPrefix(rest, `"`):
		if c.Pattern, err = strconv.Unquote(rest); err != nil {
			err = errors.New("its double quotes are not closed or have an escape that is none")
		}
	case c.Kind == tongs.EffectNetwork:
		c.Pattern, c.Private = strings.CutSuffix(rest, privateWord)
	default:
		c.Pattern = rest
	}
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return Cover{}, fmt.Errorf("%q cannot be remembered: %w", text, err)
	}
	return c, nil
}

// parseCommand reads what follows the word execute.
func (c *Cover) parseCommand(text string) error {
	if strings.HasPrefix(text, "@") {
		end := strings.IndexFunc(text, unicode.IsSpace)
		if strings.HasPrefix(text, `@"`) {
			quote, err := strconv.QuotedPrefix(text[1:])
			if err != nil {
				return errors.New("the quotes of its version are not closed")
			}
			end = 1 + len(quote)
		}
		if end < 0 || end >= len(text) || !blank(text[end]) {
			return errors.New("after the version it needs a command")
		}
		version := text[1:end]
		if strings.HasPrefix(version, `"`) { // a version in other quotes is one that has them
			version, _ = strconv.Unquote(version)
		}
		if version == "" {
			return errors.New("its version is empty; leave out the @ for a program that has none")
		}
		c.Version, text = tongs.Version(version), strings.TrimSpace(text[end:])
	}
	if text == UnknownPattern {
		c.Pattern = text
		return nil
	}
	tokens, exact, err := lexAll(text)
	if err != nil {
		return err
	}
	c.Pattern = writeTokens(tokens, exact)
	return nil
}

// Validate says what is wrong with a cover: a malformed pattern, one that would cover everything, or a kind that is never
// covered.
func (c Cover) Validate() error {
	switch {
	case !known(c.Kind):
		return errors.New("it has no kind of effect")
	case c.Kind == tongs.EffectDelete:
		return errors.New("deletes are asked for each time")
	case c.Version != "" && c.Kind != tongs.EffectExecute:
		return errors.New("only a program has a version")
	case c.Private && (c.Kind != tongs.EffectNetwork || strings.Contains(c.Pattern, "*")):
		return errors.New("only a host that is named in full can be at a private address")
	case c.Pattern == UnknownPattern:
		return nil
	case c.Pattern == "":
		return fmt.Errorf("it names nothing to %s", c.Kind)
	case !utf8.ValidString(c.Pattern) || !utf8.ValidString(string(c.Version)):
		return errors.New("it is not valid UTF-8, so that it could not be told from another one")
	}
	if err := checkPattern(c.Kind, c.Pattern); err != nil {
		return err
	}
	switch c.Kind {
	case tongs.EffectExecute:
		return c.narrowCommand()
	case tongs.EffectNetwork:
		return c.narrowHost()
	default:
		return c.narrowPath()
	}
}

// narrowCommand refuses a cover that does not name the program.
func (c Cover) narrowCommand() error {
	tokens, _, err := lexAll(c.Pattern)
	if err != nil {
		return err
	}
	given := tokens[:variables(tokens)]
	if slices.ContainsFunc(given, func(t token) bool { return t.lone(anyVariables) }) {
		return errors.New("it covers any variables, and so any program that one of them names; name the variables")
	}
	if tokens = tokens[len(given):]; len(tokens) == 0 {
		return errNoTokens
	}
	if t := tokens[0]; len(t.parts) > 1 || !t.quoted && strings.Contains(t.raw, "*") {
		return errors.New("it covers more than one program; name the program, and write rules for the rest in the configuration")
	}
	return nil
}

// narrowHost refuses a cover for every host, or for every one under a top-level domain.
func (c Cover) narrowHost() error {
	name, _, _ := splitHost(c.Pattern)
	if name == "*" || strings.HasPrefix(name, "*.") && strings.Count(name, ".") < 2 {
		return errors.New("it covers hosts of anybody; name the host, or the domain as in *.example.com")
	}
	return nil
}

// narrowPath refuses a cover that does not name its zone. The whole workspace can be covered: what happens there can be
// undone.
func (c Cover) narrowPath() error {
	zone, _, _ := strings.Cut(strings.TrimPrefix(c.Pattern, "/"), "/")
	if strings.HasPrefix(c.Pattern, "/") && strings.ContainsAny(zone, globMeta) {
		return errors.New("it covers every zone; name the zone, as in /cache/**")
	}
	return nil
}
