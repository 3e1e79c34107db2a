package shellsyntax_test

import (
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// A world for the examples: everything that is not absolute and does not go up is in the workspace.
func exampleWorld() shellsyntax.World {
	resolve := func(spelling string) (tongs.Path, error) {
		if strings.HasPrefix(spelling, "/") || strings.Contains(spelling, "..") {
			return tongs.Path{}, tongs.Errorf(tongs.CodeInvalidPath, "path %q is outside the workspace", spelling)
		}
		return tongs.Path{Rel: strings.TrimPrefix(spelling, "./")}, nil
	}
	return shellsyntax.World{Resolve: resolve, ResolveEntry: resolve, Home: "/home/somebody"}
}

func ExampleAnalyse() {
	an, err := shellsyntax.Analyse(`timeout 60 git log | head -3 > out.txt; $CMD`, exampleWorld(), shellsyntax.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range an.Effects {
		fmt.Println(e)
	}
	for _, c := range an.Commands {
		if c.Risk != "" {
			fmt.Printf("%d:%d %s: %s\n", c.Line, c.Column, c.Text, c.Risk)
		}
	}
	// Output:
	// execute git log
	// write out.txt
	// execute head -3
	// execute anything
	// 1:41 $CMD: which command $CMD is can only be told when it runs
}

func ExampleAnalyseStdin() {
	for _, interpreter := range []string{"bash", "python3"} {
		an, err := shellsyntax.AnalyseStdin([]string{interpreter}, "ls\n", exampleWorld(), shellsyntax.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(interpreter, an.Effects)
	}
	// Output:
	// bash [execute ls read anything]
	// python3 [execute python3 execute anything]
}

func ExampleDefaults() {
	rules := shellsyntax.Defaults("shell")
	fmt.Println(rules[0])
	// Output:
	// toolset shell read "**": default preApproved (user, built in)
}

func ExampleShown() {
	an, err := shellsyntax.Analyse(`git add "$FILE" *.go`, exampleWorld(), shellsyntax.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shellsyntax.Shown(an.Effects[0].Argv))
	// Output:
	// [git add "$FILE" *.go]
}
