package console

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
)

// A preview of any size is read part by part to its end, also one line that is longer than a part; in the browser too.
func TestLongPreviewsArePaged(t *testing.T) {
	s := newStand(t)
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "+line %d of a large file <b>\x1b[31m\n", i)
	}
	b.WriteString("+" + strings.Repeat("€", 200_000) + "\n+THE END\n")
	q := questionAboutChanges()
	previews := &approval.Previews{Dir: filepath.Join(s.state, "previews")}
	size, err := previews.Keep(q.ID, func(w io.Writer) error { _, err := io.WriteString(w, b.String()); return err })
	if err != nil {
		t.Fatal(err)
	}
	q.PreviewBytes = size
	s.server.opt.Previews = previews
	if q, err = s.desk.Store.Open(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	var read strings.Builder
	parts := 0
	for at := int64(0); at < size; parts++ {
		var part previewPart
		s.get(fmt.Sprintf("/api/approvals/%s/preview?offset=%d", q.ID, at), &part)
		if part.Next <= at || len(part.Text) > previewPage+8 || part.Size != size {
			t.Fatalf("at %d: next %d, %d bytes of %d", at, part.Next, len(part.Text), part.Size)
		}
		read.WriteString(part.Text)
		at = part.Next
	}
	if read.String() != b.String() || parts < 10 {
		t.Errorf("%d parts do not make up the whole: %d bytes of %d", parts, read.Len(), size)
	}
	if res, _ := s.do("GET", fmt.Sprintf("/api/approvals/%s/preview?offset=%d", q.ID, size+1), nil, nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("after the end: %d", res.StatusCode)
	}
	tab := newTab(t, s)
	tab.open("/approvals#" + q.ID)
	tab.text(".paged .part", "+line 0 of a large file <b>")
	tab.wait("the end", `(() => { const b = document.querySelector('[data-page=end]'); if (b && !b.disabled) b.click(); return document.querySelector('.paged .part')?.textContent.includes('THE END'); })()`)
	tab.wait("the start", `(() => { document.querySelector('[data-page=start]').click(); return true; })()`)
	tab.text(".paged .part", "+line 0 of a large file")
	if err := os.Truncate(filepath.Join(previews.Dir, q.ID), size/2); err != nil {
		t.Fatal(err)
	}
	if res, _ := s.do("GET", fmt.Sprintf("/api/approvals/%s/preview?offset=%d", q.ID, size/2+1), nil, nil); res.StatusCode == http.StatusOK {
		t.Error("a preview that was cut off is shown as if it were whole")
	}
}
