package anthropic_test

import (
	"testing"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/anthropic"
	"github.com/tongs-ai/tongs/model/modeltest"
)

func TestConformance(t *testing.T) {
	modeltest.Conform(t, modeltest.Anthropic, func(tb testing.TB, s *modeltest.Server) model.Model {
		m, err := anthropic.New(anthropic.Options{Model: "claude-test", Key: modeltest.Key, BaseURL: s.BaseURL()})
		if err != nil {
			tb.Fatal(err)
		}
		return m
	})
}
