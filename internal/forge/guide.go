package forge

import (
	_ "embed"
	"strings"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

//go:embed guide.md
var guide string

// Guide tells an agent how to write a good tool. Chore is what the tool should do; empty leaves that open.
func Guide(chore string) string {
	if chore = strings.TrimSpace(chore); chore == "" {
		return guide
	}
	return guide + "\nThe tool should do this: " + cleantext.Cut(chore, maxUsage) + "\n"
}
