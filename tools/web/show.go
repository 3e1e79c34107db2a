package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/internal/text"
)

// shownHeaders are the headers of an answer that say something of what was fetched.
var shownHeaders = []string{
	"Content-Type", "Last-Modified", "Etag", "Date", "Location", "Retry-After", "Content-Language", "Link", "Allow", "Www-Authenticate",
	"Cache-Control", "Content-Disposition", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit-Remaining", "Ratelimit-Reset",
}

// maxShownHeader is the most bytes of a header that are shown.
const maxShownHeader = 2000

// headersOf are the headers of an answer that are shown: those that were asked for, or those that say something of it.
func headersOf(in Input, h http.Header) []string {
	switch {
	case len(in.Answer) == 0:
		return shownHeaders
	case slices.Contains(in.Answer, "*"):
		return slices.Sorted(maps.Keys(h))
	}
	return in.Answer
}

// show makes what the model sees of an answer.
func (s *set) show(ctx context.Context, in Input, a *answer) (Output, error) {
	kind, _ := a.mediaType()
	out := Output{
		URL: a.url.String(), Status: a.status, ContentType: kind, Size: int64(len(a.body)), Headers: map[string]string{}, Cached: a.cached,
	}
	out.showHeaders = len(in.Answer) > 0
	for _, name := range headersOf(in, a.header) {
		if value := strings.Join(a.header.Values(name), ", "); value != "" {
			value = clean(strings.ToValidUTF8(value, "?"))
			if !out.showHeaders {
				value = short(value)
			}
			out.Headers[strings.ToLower(name)] = cleantext.Cut(value, maxShownHeader)
		}
	}
	kind = sniff(kind, a.body)
	if out.ContentType = kind; in.Selector != "" && kind != htmlType {
		return out, tongs.Errorf(tongs.CodeInvalidArgs, "the answer is %s, which has no elements to select; leave selector out", kind)
	}
	if len(a.body) == 0 {
		out.remarks = append(out.remarks, "the answer is empty")
		return out, nil
	}
	whole, err := s.convert(ctx, in, a, kind, &out)
	if err != nil || whole == "" {
		return out, err
	}
	return s.page(in, whole, out)
}

const (
	htmlType = "text/html"
	jsonType = "application/json"
	pdfType  = "application/pdf"
)

// sniff says what a body is: what its header says, unless that is nothing or plainly wrong.
func sniff(kind string, body []byte) string {
	switch {
	case kind == "application/xhtml+xml":
		return htmlType
	case strings.HasSuffix(kind, "+json"), kind == "text/json":
		return jsonType
	case bytes.HasPrefix(body, []byte("%PDF-")):
		return pdfType
	case kind == "" || kind == "application/octet-stream" || kind == "text/plain" && binary(body):
		found, _, _ := strings.Cut(http.DetectContentType(body), ";")
		if found == "text/plain" && looksJSON(string(body[:min(len(body), 64)])) && json.Valid(body) {
			return jsonType
		}
		return found
	case kind == htmlType && binary(body):
		found, _, _ := strings.Cut(http.DetectContentType(body), ";")
		return found
	}
	return kind
}

func binary(body []byte) bool {
	return bytes.IndexByte(body[:min(len(body), 8000)], 0) >= 0 && !marked(body)
}

func looksJSON(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")
}

// textual are the types that are text besides those that say so.
func textual(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml") ||
		strings.HasPrefix(kind, "application/") && strings.Contains(
			" xml javascript ecmascript x-javascript yaml x-yaml toml sql graphql x-sh x-ndjson ndjson jsonl x-www-form-urlencoded rtf x-tex ",
			" "+strings.TrimPrefix(kind, "application/")+" ") || kind == "image/svg+xml"
}

// convert returns the whole text of an answer. It is empty where there is something else to show.
func (s *set) convert(ctx context.Context, in Input, a *answer, kind string, out *Output) (string, error) {
	switch {
	case in.Format == "raw" && (kind == htmlType || kind == jsonType || textual(kind)):
		return decode(a.body, a.header.Get("Content-Type")), nil
	case kind == htmlType:
		return convertBounded(ctx, in, a, out)
	case kind == jsonType:
		said := decode(a.body, a.header.Get("Content-Type"))
		a.links = textLinks(said)
		return prettyJSON(said), nil
	case kind == pdfType && in.Format != "raw":
		return s.convertPDF(ctx, a, out)
	case textual(kind):
		said := clean(strings.ReplaceAll(decode(a.body, a.header.Get("Content-Type")), "\r\n", "\n"))
		a.links = textLinks(said)
		return said, nil
	case strings.HasPrefix(kind, "image/"):
		s.attach(a, kind, out)
		return "", nil
	case !binary(a.body) && utf8.Valid(a.body):
		return clean(string(a.body)), nil
	}
	s.keep(a, kind, out)
	return "", nil
}

var linkInText = regexp.MustCompile(`https?://[^\s"'<>\\()\[\]{}]+`)

// textLinks are the addresses that stand in a text.
func textLinks(said string) (list []*url.URL) {
	for _, found := range linkInText.FindAllString(said, maxLinks) {
		if u, err := url.Parse(found); err == nil {
			list = append(list, u)
		}
	}
	return list
}

// convertTime is how long a page may take to be converted.
const convertTime = 20 * time.Second

// converters are the turns of converting. A page that takes for ever keeps one until it is done, so that what such pages
// cost is bounded.
var converters = make(chan struct{}, 8)

// convertBounded converts a page, and gives up on one that takes too long.
func convertBounded(ctx context.Context, in Input, a *answer, out *Output) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, convertTime)
	defer cancel()
	slow := tongs.Errorf(tongs.CodeTimeout, "the page takes too long to convert; use format text or raw, or a selector")
	select {
	case converters <- struct{}{}:
	case <-ctx.Done():
		return "", slow
	}
	type result struct {
		text string
		out  Output
		err  error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-converters }()
		r := result{out: *out}
		defer func() {
			if p := recover(); p != nil {
				r.err = tongs.Errorf(tongs.CodeExecutionError, "the page cannot be converted (%.100v); use format raw", p)
			}
			done <- r
		}()
		r.text, r.err = convertHTML(ctx, in, a, &r.out)
	}()
	select {
	case r := <-done:
		*out = r.out
		return r.text, r.err
	case <-ctx.Done():
		return "", slow
	}
}

func convertHTML(ctx context.Context, in Input, a *answer, out *Output) (string, error) {
	source := decode(a.body, a.header.Get("Content-Type"))
	p, err := parsePage(source, a.url)
	if err != nil {
		return "", err
	}
	out.Title = p.title
	a.links = p.links()
	var shown *html.Node
	if in.Selector != "" {
		nodes, err := p.pick(in.Selector)
		if err != nil {
			return "", err
		}
		shown = gather(nodes)
	} else {
		shown = p.content()
	}
	var said string
	switch in.Format {
	case "html":
		said, err = sanitised(shown)
	case "text":
		said = plainText(shown)
	default:
		said, err = markdown(ctx, shown)
	}
	if p.unknown && strings.TrimSpace(said) != "" {
		said = wholeUnknown + said
	}
	if p.part {
		out.remarks = append(out.remarks, "the main part of the page; selector body shows all of it")
	}
	if err == nil && strings.TrimSpace(said) == "" {
		out.remarks = append(out.remarks, "the page has no text of its own: scripts make it, and they are not run")
	}
	return said, err
}

// prettyJSON indents JSON. Numbers and order stay as they are.
func prettyJSON(source string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(source), "", "  ") != nil {
		return clean(source)
	}
	return b.String()
}

// attach adds an image.
func (s *set) attach(a *answer, kind string, out *Output) {
	if int64(len(a.body)) > s.opt.ImageBytes {
		s.keep(a, kind, out)
		return
	}
	out.attachments = []tongs.Attachment{{Name: a.fileName(), MIME: kind, Size: out.Size, Data: a.body}}
	out.remarks = append(out.remarks, fmt.Sprintf("%s, %s of %s, is attached", a.fileName(), text.Size(out.Size), kind))
}

// keep saves a file that cannot be shown.
func (s *set) keep(a *answer, kind string, out *Output) {
	what := fmt.Sprintf("%s is %s of %s, which is no text", a.fileName(), text.Size(out.Size), kind)
	where, remark := s.save(a)
	out.Path = where
	out.remarks = append(out.remarks, what+"; "+remark)
}

// save keeps a body as a file, and says where, or why not.
func (s *set) save(a *answer) (where, remark string) {
	if s.opt.Save == nil {
		return "", "it was not kept"
	}
	where, err := s.opt.Save(a.fileName(), a.body)
	if err != nil {
		return "", fmt.Sprintf("it could not be kept: %v", err)
	}
	return where, "all of it is in " + where
}

// page fits a text: the part from the offset, or the passages with a text in them.
func (s *set) page(in Input, whole string, out Output) (Output, error) {
	out.Total = utf8.RuneCountInString(whole)
	if in.Find != "" {
		return s.passages(in, whole, out)
	}
	if in.Offset > 0 && in.Offset >= out.Total {
		return out, tongs.Errorf(tongs.CodeInvalidArgs, "offset %d is after the end: the text has %d characters", in.Offset, out.Total)
	}
	from := runeAt(whole, in.Offset)
	rest := whole[from:]
	out.Body = rest
	if end := runeAt(rest, s.opt.Page); end < len(rest) {
		if line := strings.LastIndexByte(rest[:end], '\n'); line > end/2 {
			end = line + 1
		}
		out.Body = rest[:end]
		out.NextOffset = in.Offset + utf8.RuneCountInString(out.Body)
		out.remarks = append(out.remarks, fmt.Sprintf("characters %d to %d of %d; go on with offset %d, or narrow it with selector or find",
			in.Offset, out.NextOffset, out.Total, out.NextOffset))
	}
	out.Body = reopened(whole[:from], out.Body)
	return out, nil
}

// runeAt is the index of the n-th rune, the length where there are fewer.
func runeAt(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// around is how many lines are shown before and after a passage.
const around = 3

// passages shows the lines with a text in them, and those around.
func (s *set) passages(in Input, whole string, out Output) (Output, error) {
	lines := strings.Split(whole, "\n")
	want := strings.ToLower(in.Find)
	var b strings.Builder
	found, shown, at, left := 0, -1, 0, false
	offsets := make([]int, len(lines))
	for i, line := range lines {
		offsets[i] = at
		at += utf8.RuneCountInString(line) + 1
	}
	for i, line := range lines {
		if !strings.Contains(strings.ToLower(line), want) || offsets[i] < in.Offset {
			continue
		}
		found++
		from, to := max(i-around, shown+1), min(i+around, len(lines)-1)
		if b.Len() > s.opt.Page {
			if !left {
				out.NextOffset, left = offsets[i], true
			}
			continue
		}
		if from > shown+1 || shown < 0 {
			fmt.Fprintf(&b, "[offset %d]\n", offsets[from])
		}
		for ; from <= to; from++ {
			b.WriteString(excerpt(lines[from], want) + "\n")
		}
		shown = max(shown, to)
	}
	if found == 0 {
		return out, tongs.Errorf(tongs.CodeNoMatch, "%q is nowhere in the %d characters of the text; fetch it without find to read it",
			in.Find, out.Total)
	}
	out.Body = strings.TrimRight(b.String(), "\n")
	out.remarks = append(out.remarks, fmt.Sprintf("%d lines of %d characters have %q in them; offset reads on from a place",
		found, out.Total, in.Find))
	return out, nil
}

// excerpt cuts a line that is too long to be shown whole around what was looked for.
func excerpt(line, want string) string {
	const most = 2000
	if len(line) <= most {
		return line
	}
	at := max(0, strings.Index(strings.ToLower(line), want)-most/2)
	at = min(at, len(line))
	return "..." + strings.ToValidUTF8(line[at:min(len(line), at+most)], "") + "..."
}
