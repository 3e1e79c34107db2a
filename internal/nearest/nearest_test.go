package nearest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/nearest"
)

func TestWords(t *testing.T) {
	tools := []string{"read_file", "write_file", "edit", "delete_file", "move_file", "list_directory", "grep", "glob"}
	for _, test := range []struct {
		word string
		want []string
	}{
		{"read_fiel", []string{"read_file"}},
		{"ReadFile", []string{"read_file"}},
		{"read", []string{"read_file"}},
		{"edti", []string{"edit"}},
		{"list_dir", []string{"list_directory"}},
		{"", nil},
		{"x", nil},
		{"_", nil},
		{"quantum", nil},
		{strings.Repeat("read_file", 1000), nil},
	} {
		if got := nearest.Words(test.word, tools, 3); !slices.Equal(got, test.want) {
			t.Errorf("Words(%.20q) = %q, want %q", test.word, got, test.want)
		}
	}
}

func TestWordsOrderAndLimit(t *testing.T) {
	got := nearest.Words("utf8", []string{"utf-16", "latin1", "utf-8", "utf8"}, 2)
	if want := []string{"utf-8", "utf8"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := nearest.Word("nothing", []string{"a", "b"}); got != "" {
		t.Errorf("Word found %q", got)
	}
}
