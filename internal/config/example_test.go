package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs/internal/config"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	text := "toolsets:\n  shell:\n    rules:\n      - pattern: \"git \"\n        approval: preApproved\n"
	if err := os.WriteFile(filepath.Join(dir, config.UserFile), []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := config.Load(config.Options{ConfigDir: dir, Managed: filepath.Join(dir, "none")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Mode)
	for _, rule := range cfg.Rules {
		fmt.Println(rule)
	}
	// Output:
	// safe
	// toolset shell execute "git ": preApproved (user, config.yaml:4)
}

func ExampleProblem() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, config.UserFile), []byte("approval:\n  defalt: ask\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	_, err = config.Load(config.Options{ConfigDir: dir, Managed: filepath.Join(dir, "none")})
	fmt.Println(err != nil)
	fmt.Println(config.Problem{File: "config.yaml", Line: 2, Column: 3, Message: "unknown key", Text: "  defalt: ask"})
	// Output:
	// true
	// config.yaml:2:3: unknown key
	//        2 |   defalt: ask
	//          |   ^
}
