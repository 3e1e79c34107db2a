package gemini_test

import (
	"testing"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/gemini"
	"github.com/tongs-ai/tongs/model/modeltest"
)

func TestConformance(t *testing.T) {
	for _, name := range []string{"gemini-2.5-flash", "gemini-3-pro-preview"} {
		t.Run(name, func(t *testing.T) {
			modeltest.Conform(t, modeltest.Gemini, func(tb testing.TB, s *modeltest.Server) model.Model {
				m, err := gemini.New(gemini.Options{Model: name, Key: modeltest.Key, BaseURL: s.BaseURL()})
				if err != nil {
					tb.Fatal(err)
				}
				return m
			})
		})
	}
}
