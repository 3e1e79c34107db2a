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
		return fmt.Sprintf("It cannot be told whether %s is something that the rule %s is about.", what, rule)
	case byMark:
		return fmt.Sprintf("%q must be asked for each time: %s.", e.String(), reasonOf(e))
	case byKind:
		return "The call has an effect of no known kind, which must be asked for each time."
	case byMode:
		return f.byMode()
	case bySteers:
		return fmt.Sprintf("%s changes what agents are told to do: %s.", what, reasonOf(e))
	case bySay:
		return fmt.Sprintf("The tool %s itself says %s.", in.Spec.Name, f.decision)
	case byOther:
		return fmt.Sprintf("No rule covers %s; it comes with the rest of the call.", what)
	case byPlan:
		return fmt.Sprintf("No rule covers %s; %s makes it %s.", what, in.Spec.Name, f.decision)
	case bySpec:
		return fmt.Sprintf("No rule covers %s; %s is %s by default.", what, in.Spec.Name, f.decision)
	case byShadowed:
		return fmt.Sprintf("%s hides the built-in tool of that name, which is %s.", in.Spec.Name, f.decision)
	case bySends:
		return fmt.Sprintf("%s sends data out, which is asked for each time.", what)
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
