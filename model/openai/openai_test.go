package openai_test

import (
	"testing"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/modeltest"
	"github.com/tongs-ai/tongs/model/openai"
)

func TestChatConformance(t *testing.T) {
	for name, strict := range map[string]bool{"loose": false, "strict": true} {
		t.Run(name, func(t *testing.T) {
			modeltest.Conform(t, modeltest.Chat, func(tb testing.TB, s *modeltest.Server) model.Model {
				m, err := openai.NewChat(openai.Options{Model: "gpt-test", Key: modeltest.Key, BaseURL: s.BaseURL(), Strict: strict})
				if err != nil {
					tb.Fatal(err)
				}
				return m
			})
		})
	}
}

func TestResponsesConformance(t *testing.T) {
	for name, strict := range map[string]bool{"loose": false, "strict": true} {
		t.Run(name, func(t *testing.T) {
			modeltest.Conform(t, modeltest.Responses, func(tb testing.TB, s *modeltest.Server) model.Model {
				m, err := openai.NewResponses(openai.Options{Model: "gpt-test", Key: modeltest.Key, BaseURL: s.BaseURL(), Strict: strict, Effort: "low"})
				if err != nil {
					tb.Fatal(err)
				}
				return m
			})
		})
	}
}
