package forge

import (
	_ "embed"
	"strings"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Hint is the guide in a few sentences, for the system prompt of an agent that may make tools.
const Hint = "You can make tools for work that comes up again. create_custom_tool with a name, a description and parameters makes /forge/NAME " +
	"(~/.forge/tools/NAME) with boilerplate. Edit its source there, then build_custom_tool compiles and tests it. From then on call it by its " +
	"name, in later sessions too; a person approves it first. Add a parameter to a tool that exists rather than making a second one."

//go:embed guide.md
var guide string

// Guide tells an agent how to write a good tool. Chore is what the tool should do; empty leaves that open.
func Guide(chore string) string {
	if chore = strings.TrimSpace(chore); chore == "" {
		return guide
	}
	return guide + "\nThe tool should do this: " + cleantext.Cut(chore, maxUsage) + "\n"
}
