package web

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"

	"github.com/tongs-ai/tongs"
)

const (
	maxPDFPages = 500
	// maxPDFText bounds the text of a file, maxPDFUnpacked what is packed in it.
	maxPDFText     = 4 << 20
	maxPDFUnpacked = 64 << 20
	// maxPDFReads is how often something is read of a small file, parts of it many times.
	maxPDFReads = 20_000
	// pdfTime is how long reading one may take.
	pdfTime = 20 * time.Second
)

// pdfReaders are the turns of reading. A file on which the reader hangs takes one away for good, so that what it costs is
// bounded.
var pdfReaders = make(chan struct{}, 2)

// convertPDF returns the text of a file. Files are written to break readers: whatever happens there ends as an error here.
func (s *set) convertPDF(ctx context.Context, a *answer, out *Output) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	said, pages, err := pdfText(ctx, a.body)
	if err != nil {
		s.keep(a, pdfType, out)
		out.remarks = append(out.remarks, fmt.Sprintf("its text cannot be read: %v", err))
		return "", nil
	}
	if strings.TrimSpace(said) == "" {
		s.keep(a, pdfType, out)
		out.remarks = append(out.remarks, fmt.Sprintf("its %d pages have no text, perhaps only pictures of it", pages))
		return "", nil
	}
	out.remarks = append(out.remarks, fmt.Sprintf("text of %d pages", pages))
	return said, nil
}

func pdfText(ctx context.Context, data []byte) (string, int, error) {
	if err := checkPDF(data); err != nil {
		return "", 0, err
	}
	select {
	case pdfReaders <- struct{}{}:
	case <-ctx.Done():
		return "", 0, tongs.Errorf(tongs.CodeTimeout, "other files are being read; try again later")
	}
	type result struct {
		text  string
		pages int
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-pdfReaders }()
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: fmt.Errorf("it is damaged: %.100v", p)}
			}
			done <- r
		}()
		r.text, r.pages, r.err = readPDF(ctx, data)
	}()
	select {
	case r := <-done:
		return r.text, r.pages, r.err
	case <-ctx.Done():
		return "", 0, tongs.Errorf(tongs.CodeTimeout, "it takes too long")
	}
}

func readPDF(ctx context.Context, data []byte) (string, int, error) {
	r, err := pdf.NewReader(&bounded{bytes.NewReader(data), ctx, maxPDFReads + len(data)/20}, int64(len(data)))
	if err != nil {
		return "", 0, err
	}
	pages := pagesOf(r.Trailer().Key("Root").Key("Pages"), nil, 0)
	var b strings.Builder
	for i, page := range pages {
		if b.Len() > maxPDFText {
			break
		}
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		said, err := page.GetPlainText(nil)
		if err != nil {
			return "", 0, err
		}
		if said = tidyText(clean(strings.ToValidUTF8(said, "\uFFFD"))); said != "" {
			fmt.Fprintf(&b, "[page %d]\n%s\n\n", i+1, said)
		}
	}
	text := b.String()
	return strings.ToValidUTF8(text[:min(len(text), maxPDFText)], ""), len(pages), nil
}

// pagesOf collects the pages of a tree, which may lead back to itself.
func pagesOf(v pdf.Value, pages []pdf.Page, depth int) []pdf.Page {
	if depth > 32 {
		return pages
	}
	if v.Key("Type").Name() == "Page" {
		return append(pages, pdf.Page{V: v})
	}
	kids := v.Key("Kids")
	for i := 0; i < kids.Len() && len(pages) < maxPDFPages; i++ {
		pages = pagesOf(kids.Index(i), pages, depth+1)
	}
	return pages
}

// bounded ends the reading of a file that goes round in circles: it is read over and over, until no more is given.
type bounded struct {
	io.ReaderAt
	ctx  context.Context
	left int
}

func (b *bounded) ReadAt(p []byte, off int64) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errCircles
	}
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	return b.ReaderAt.ReadAt(p, off)
}

var errCircles = errors.New("it leads back to itself")

// checkPDF refuses a file in which more is packed than its reader should unpack.
func checkPDF(data []byte) error {
	left := int64(maxPDFUnpacked)
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("stream"))
		if i < 0 {
			return nil
		}
		at += i + len("stream")
		if left -= inflated(bytes.TrimLeft(data[at:min(len(data), at+4)], "\r\n"), data[at:], left, 0); left <= 0 {
			return fmt.Errorf("more than %d bytes are packed in it", maxPDFUnpacked)
		}
	}
}

// inflated is how many bytes are packed in what begins there, if it is packed: also twice over.
func inflated(head, data []byte, most int64, depth int) int64 {
	if len(head) < 2 || head[0]&0x0f != 8 || (uint16(head[0])<<8|uint16(head[1]))%31 != 0 || depth > 2 {
		return 0
	}
	z, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(data, "\r\n")))
	if err != nil {
		return 0
	}
	defer z.Close()
	inner, _ := io.ReadAll(io.LimitReader(z, most+1))
	size := int64(len(inner))
	if size > most || size < 2 {
		return size
	}
	return size + inflated(inner[:2], inner, most-size, depth+1)
}
