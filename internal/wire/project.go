package wire

import (
	"os"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/internal/registries"
	"github.com/tongs-ai/tongs/tools/project"
)

// projectTools are the tools that test, format and extend projects. Without a confiner they can be looked at, not run.
func projectTools(cfg *config.Config, confined *confine.Confiner) ([]tongs.Tool, error) {
	l := cfg.Limits
	opt := project.Options{
		Timeout: l.ProjectTimeout, MaxTimeout: l.ProjectTimeoutMax,
		Registries: func(dir string) []registries.Named {
			home, _ := os.UserHomeDir()
			return registries.Place{Home: home, Project: dir, Getenv: os.Getenv}.Read()
		},
	}
	if confined != nil && cfg.Sandbox.Writes == config.Outcome {
		opt.Copies = confined.Outcomes
	}
	return project.Tools(opt)
}
