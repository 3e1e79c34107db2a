package main

import "strings"

// reasons say in one line why a goal is missed, by the name of the measure or of what misses it. The folders that a package
// lies in may be left out of its name, so that a move changes nothing here. The report names the reasons that are no longer
// needed.
var reasons = map[string]string{
	"importable packages":                          "programs embed tool families, models and stages one by one, so each is a package; some rooms are a doc.go only",
	"public identifiers in them, methods included": "methods count; the vocabulary, the stages' interfaces and the models have most of them",
	"in-module imports a package":                  "internal/wire knows every part, and small shared packages below internal/ count one each",
	"in-module imports of cmd/tongs":               "the commands allow, deny and setup read presets, rules and questions themselves",

	"wire.Options":      "what a command needs of a system; every command sets a few",
	"engine.Outcome":    "what the host of programs does with one layer: read, keep, hold back, drop",
	"approval.Store":    "the life of a question: open, find, answer, wait, withdraw, redeem; every store has all of it",
	"shell.Options":     "bounds of sessions and jobs, each with a default",
	"web.Options":       "bounds of pages, each with a default",
	"config.Config":     "one field for each section of the file, as people write it",
	"confine.Options":   "what a sandbox policy is made of; internal/wire fills it in one place",
	"console.Options":   "one field for each part that a page shows; internal/wire fills it in one place",
	"egress.Options":    "bounds of requests, each with a default",
	"engine.Options":    "the stages and what lives beside them",
	"mcpclient.Options": "stores, callbacks and bounds of servers",
	"mcpserver.Options": "callbacks of one surface and bounds, each with a default",
	"walk.Options":      "what a search leaves out",
	"workspace.handle":  "every call on an open directory, for the two ways of making them (by descriptor, by os.Root)",
}

// reason finds the reason for a name, and the key that it stands under.
func reason(reasons map[string]string, name string) (key, why string) {
	for key, why := range reasons {
		if name == key || strings.HasSuffix(name, "/"+key) {
			return key, why
		}
	}
	return "", "no reason is given"
}
