package module_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs/internal/module"
)

// A module is listed before anybody approved it, and nothing of it runs.
func ExampleSet_Look() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "tools.py")
	if err := os.WriteFile(file, []byte("def add(a: int, b: int) -> int:\n    return a + b\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	set, err := module.New(module.Options{Workspace: dir, Modules: []module.Config{{Module: file, Tools: []string{"add"}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	for _, tool := range set.Tools() {
		fmt.Println(tool.Spec().Name, tool.Spec().Source.Kind)
	}
	review, err := set.Look(context.Background(), "tools.py")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(review.State.Status, strings.Contains(review.Text, "return a + b"))
	// Output:
	// add module
	// not approved true
}
