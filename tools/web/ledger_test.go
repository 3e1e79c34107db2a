package web

import (
	"net/http"
	"strings"
	"testing"
)

// Where a session keeps nothing, what one request may carry is bounded all the same.
func TestRequestsAreBoundedWithoutAState(t *testing.T) {
	l := newLedger(512, 8<<10)
	for query, free := range map[string]bool{"q=tongs": true, "q=" + strings.Repeat("some+words+", 100): false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/search?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if why := l.weigh(t.Context(), nil, req); (why == "") != free {
			t.Errorf("%d bytes: %q", len(query), why)
		}
		ctx, err := l.charge(t.Context(), nil, req)
		if err != nil || (ctx == t.Context()) != free {
			t.Errorf("%d bytes are charged as sending: %v, %v", len(query), ctx != t.Context(), err)
		}
	}
}
