package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
)

// What stands before the text of a rule that decided, and of one that might have.
const (
	ruleWord  = "rule: "
	maybeWord = "may meet rule: "
)

// words names what decided, in a few words.
func (f finding) words(in *Input, e *tongs.Effect) string {
	switch f.cause {
	case byRule:
		return ruleWord + f.rule.String()
	case byMaybe:
		return maybeWord + f.rule.String()
	case byMark:
		return "must ask: " + reasonOf(e)
	case byKind:
		return "must ask: no known kind of effect"
	case byMode:
		return "mode " + in.Mode.String()
	case bySteers:
		return "steers agents: " + reasonOf(e)
	case bySay:
		return "say of " + in.Spec.Name
	case byPlan:
		return "plan of " + in.Spec.Name
	case bySpec:
		return "default of " + in.Spec.Name
	case byShadowed:
		return "default of the built-in " + in.Shadowed.Name
	case bySends:
		return "sends data"
	case byPrivate:
		return "private address"
	case byOther:
		return "comes with the rest of the call"
	default:
		return "no setting for " + in.Spec.Name
	}
}

// sentence says why, in one sentence for a person. by is what words returned.
func (f finding) sentence(in *Input, e *tongs.Effect, by string) string {
	what := strconv.Quote(e.String())
	if e.Unknown && e.Why != "" {
		what += " (" + reasonOf(e) + ")"
	}
	switch f.cause {
	case byRule:
		return f.byRule(strings.TrimPrefix(by, ruleWord), e)
	case byMaybe:
		rule := strings.TrimPrefix(by, maybeWord)
		return fmt.Sprintf("Tongs cannot tell whether the rule %s covers %s.", rule, what)
	case byMark:
		return fmt.Sprintf("%q always asks: %s.", e.String(), reasonOf(e))
	case byKind:
		return "The call has an effect of an unknown kind, which always asks."
	case byMode:
		return f.byMode()
	case bySteers:
		return fmt.Sprintf("%s changes what agents are told to do: %s.", what, reasonOf(e))
	case bySay:
		return fmt.Sprintf("The tool %s itself %s.", in.Spec.Name, verb(f.decision))
	case byOther:
		return fmt.Sprintf("No rule covers %s; it comes with the rest of the call.", what)
	case byPlan, bySpec:
		return "No rule covers " + what + "; " + in.Spec.Name + " " + verb(f.decision) + " by default."
	case byShadowed:
		return fmt.Sprintf("%s hides the built-in tool of that name, which %s by default.", in.Spec.Name, verb(f.decision))
	case bySends:
		return fmt.Sprintf("%s sends data out, which always asks.", what)
	case byPrivate:
		return fmt.Sprintf("%s leads to an address of this machine or network, and no rule names that host.", what)
	default:
		return fmt.Sprintf("No rule and no default covers %s.", what)
	}
}

func (f finding) byRule(rule string, e *tongs.Effect) string {
	verb, each := "asks for", ""
	switch f.decision {
	case tongs.PreApproved:
		verb = "allows"
	case tongs.Blocked:
		verb = "blocks"
	}
	if f.rule.Undoable && f.decision == tongs.PreApproved {
		each = ", since it can be undone"
		if !e.Undoable {
			each = ", since this session made the file"
		}
	}
	if f.step == StepMustAsk {
		each = ", in every mode and each time"
	}
	return fmt.Sprintf("The rule %s %s %q%s.", rule, verb, e.String(), each)
}

// verb is what a tool does whose own decision this is.
func verb(d tongs.Decision) string {
	switch d {
	case tongs.PreApproved:
		return "allows it"
	case tongs.Blocked:
		return "blocks it"
	default:
		return "asks"
	}
}

func (f finding) byMode() string {
	if f.decision == tongs.PreApproved {
		return "Mode all allows what is neither blocked nor must be asked for."
	}
	return "Mode none asks for every call."
}

// reasonOf is the effect's own reason for being asked for.
func reasonOf(e *tongs.Effect) string {
	if e.Why != "" {
		return strings.TrimRight(e.Why, ".")
	}
	return e.String()
}
