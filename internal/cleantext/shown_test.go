package cleantext_test

import (
	"testing"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

func TestText(t *testing.T) {
	for _, test := range []struct {
		in   string
		n    int
		want string
	}{
		{"plain é\n\ttext", 100, "plain é\n\ttext"},
		{"a\x1b[31m\u202eb\u200bc\x00", 100, "a[31mbc"},
		{"a\U000e0041\ufe0fb", 100, "ab"},
		{"a\xffb", 100, "a\uFFFDb"},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc … (cut)"},
		{"aé", 2, "a … (cut)"},
		{"", 0, ""},
		{"é", 0, " … (cut)"},
	} {
		if got := cleantext.Text(test.in, test.n); got != test.want {
			t.Errorf("%q to %d: %q, want %q", test.in, test.n, got, test.want)
		}
	}
}
