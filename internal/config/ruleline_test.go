package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func TestRuleLine(t *testing.T) {
	for line, want := range map[string]tongs.Rule{
		"ask command git push":           {Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "git push", Decision: tongs.Ask},
		`blocked command "rm -rf *"`:     {Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "rm -rf *", Decision: tongs.Blocked},
		"allow command  make ":           {Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "make", Decision: tongs.PreApproved, Toolset: "shell"},
		"block path secrets/**":          {Effects: tongs.Kinds(tongs.EffectRead, tongs.EffectWrite, tongs.EffectDelete), Pattern: "secrets/**", Decision: tongs.Blocked},
		"preApproved write src/**":       {Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "src/**", Decision: tongs.PreApproved, Toolset: "filesystem"},
		"preApproved host *.example.com": {Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "*.example.com", Decision: tongs.PreApproved, Toolset: "web"},
		"ask tool edit":                  {Tool: "edit", Decision: tongs.Ask},
	} {
		r, err := ParseRuleLine(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		rules, err := r.Rules()
		want.Layer, want.Origin = tongs.LayerUser, "proposed"
		if err != nil || len(rules) != 1 || rules[0] != want {
			t.Errorf("%s is %+v (%v)", line, rules, err)
		}
	}
	for _, line := range []string{"", "ask", "maybe command x", "ask comand git", "ask command", "ask host http://x/y", "ask path ~/x", "ask tool a b", `ask command "`, "ask path a\nb: 1"} {
		if r, err := ParseRuleLine(line); err == nil {
			t.Errorf("%q is %+v", line, r)
		}
	}
}

func TestReadRulesTakesRulesOnly(t *testing.T) {
	rules, err := ReadRules([]byte("approval:\n  default: ask\n  tools: {edit: blocked}\ntoolsets:\n  shell:\n    rules:\n      - {pattern: make, approval: ask}\n"), "p.yaml")
	if err != nil || len(rules) != 3 || rules[2].Origin != "p.yaml:7" || rules[0].Layer != tongs.LayerUser {
		t.Fatalf("%+v, %v", rules, err)
	}
	for _, text := range []string{"", "approval:\n  mode: all", "zones:\n  c: {path: /c}\napproval: {default: ask}", "limits: {readLines: 5}\napproval: {default: ask}", "mcp:\n  x: {command: y}\napproval: {default: ask}", "approval: [", "permissions: [read]\napproval: {default: ask}"} {
		if rules, err := ReadRules([]byte(text), "p.yaml"); err == nil {
			t.Errorf("%q: %+v", text, rules)
		}
	}
}

func TestAddRule(t *testing.T) {
	for name, file := range map[string]string{
		"empty":        "",
		"comments":     "# mine\n",
		"no end":       "approval:\n  mode: safe",
		"empty keys":   "toolsets:\n",
		"other set":    "toolsets:\n  web:\n    hosts: [a.b]\n",
		"no rules":     "toolsets:\n    shell:\n        default: ask # so\nlimits:\n  readLines: 7\n",
		"rules":        "toolsets:\n  shell:\n    rules:\n      # first\n      - pattern: ls\n        approval: preApproved\n  web:\n    hosts: [x.y]\n",
		"flat rules":   "toolsets:\n  shell:\n    rules:\n    - pattern: ls\n      approval: preApproved\n",
		"inline rules": "toolsets:\n  shell:\n    rules:\n      - {pattern: ls, approval: ask}\n",
		"tools":        "approval:\n  tools:\n    shell: ask\n",
		"windows":      "approval:\r\n  tools:\r\n    shell: ask\r\n",
	} {
		for _, line := range []string{"blocked command git push", "ask write src/**", "preApproved host e.f", "preApproved network npm", "blocked network e.f:8080", "blocked tool edit"} {
			r, err := ParseRuleLine(line)
			if err != nil {
				t.Fatal(err)
			}
			after, err := AddRule([]byte(file), r)
			if err != nil {
				t.Errorf("%s, %s: %v", name, line, err)
				continue
			}
			rules, _ := r.Rules()
			ids, err := ruleIDs(after)
			if err != nil || slices.ContainsFunc(rules, func(want tongs.Rule) bool { return !slices.Contains(ids, policy.RuleID(want)) }) {
				t.Errorf("%s, %s: %v\n%s", name, line, err, after)
			}
			for kept := range strings.Lines(file) {
				if !strings.Contains(string(after), strings.TrimRight(kept, "\r\n")) {
					t.Errorf("%s, %s: the line %q is gone:\n%s", name, line, kept, after)
				}
			}
			if again, err := AddRule(after, r); tongs.CodeOf(err) != tongs.CodeAlreadyExists {
				t.Errorf("%s, %s: twice: %v\n%s", name, line, err, again)
			}
		}
	}
}

// A rule comes after those that are there, so that comments stay with what they are about.
func TestAddRuleComesLast(t *testing.T) {
	const push = "      - pattern: \"git push\"\n        approval: blocked\n"
	for before, after := range map[string]string{
		"toolsets:\n  shell:\n    rules:\n      # mine\n      - pattern: ls\n        approval: ask\n\n# the web\n  # more\n  web:\n    hosts: [x.y]\n": "" +
			"toolsets:\n  shell:\n    rules:\n      # mine\n      - pattern: ls\n        approval: ask\n" + push + "\n# the web\n  # more\n  web:\n    hosts: [x.y]\n",
		"# all of it\ntoolsets:\n  # commands\n  shell:\n    # nothing yet\n    default: ask\n\napproval:\n  mode: safe\n": "" +
			"# all of it\ntoolsets:\n  # commands\n  shell:\n    # nothing yet\n    default: ask\n    rules:\n" + push + "\napproval:\n  mode: safe\n",
		"toolsets:\n  shell:\n    rules:\n    - pattern: ls\n      approval: ask\n    # about the default\n    default: ask\n": "" +
			"toolsets:\n  shell:\n    rules:\n    - pattern: ls\n      approval: ask\n    - pattern: \"git push\"\n      approval: blocked\n    # about the default\n    default: ask\n",
		"toolsets:\n  shell:\n    rules:\n      # none yet\n": "toolsets:\n  shell:\n    rules:\n      # none yet\n" + push,
	} {
		got, err := AddRule([]byte(before), RuleLine{Decision: tongs.Blocked, Kind: "command", Pattern: "git push"})
		if err != nil || string(got) != after {
			t.Errorf("%v\n%s\nbecame\n%s\nwant\n%s", err, before, got, after)
		}
	}
}

func TestAddRuleRefuses(t *testing.T) {
	push, err := ParseRuleLine("blocked command git push")
	if err != nil {
		t.Fatal(err)
	}
	edit := RuleLine{Decision: tongs.Ask, Kind: "tool", Pattern: "edit"}
	for file, r := range map[string]RuleLine{
		"toolsets: {shell: {rules: []}}":             push,
		"toolsets:\n  shell: {default: ask}":         push,
		"toolsets:\n  shell:\n    rules: []":         push,
		"approval:\n  tools:\n    edit: preApproved": edit,
		"approval: [":                       edit,
		"toolsets:\n  shell:\n    rules: 5": push,
	} {
		if after, err := AddRule([]byte(file), r); tongs.CodeOf(err) != tongs.CodeConfigError {
			t.Errorf("%q: %v\n%s", file, err, after)
		}
	}
}
