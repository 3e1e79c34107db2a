package web

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/andybalholm/cascadia"
	"github.com/go-shiori/go-readability"
	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/visibility"
)

// page is an HTML document that was cleaned.
type page struct {
	doc   *html.Node
	base  *url.URL
	title string
	// size is that of the source.
	size int
	// part is set where content left something out.
	part bool
	// unknown is set where it cannot be told of any text whether a reader sees it.
	unknown bool
}

// parsePage reads a document and takes out what is not shown.
func parsePage(source string, at *url.URL) (*page, error) {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeExecutionError, "the page is nested too deeply to be read; use format raw")
	}
	p := &page{doc: doc, base: at, size: len(source)}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Base:
			if u, err := at.Parse(strings.TrimSpace(visibility.Attr(n, "href"))); err == nil && visibility.Attr(n, "href") != "" && (u.Scheme == "http" || u.Scheme == "https") {
				p.base = u
			}
		case atom.Frame: // a page of frames says where its parts are
			rename(n, atom.A)
			n.Attr = []html.Attribute{{Key: "href", Val: visibility.Attr(n, "src")}}
			n.AppendChild(textNode("frame "))
		case atom.Title:
			if p.title == "" && (n.Parent == nil || n.Parent.Data != "svg") {
				p.title = oneLine(clean(textOf(n)))
			}
		}
	}
	p.unknown = strip(doc)
	p.absolute()
	return p, nil
}

// absolute makes addresses whole, and takes away those that lead nowhere.
func (p *page) absolute() {
	for n := range p.doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for i := 0; i < len(n.Attr); i++ {
			a := &n.Attr[i]
			if a.Key == "data-src" && visibility.Attr(n, "src") == "" {
				a.Key = "src"
			}
			if a.Key != "href" && a.Key != "src" && a.Key != "cite" {
				continue
			}
			whole, ok := p.resolve(a.Val)
			if !ok {
				n.Attr = append(n.Attr[:i], n.Attr[i+1:]...)
				i--
				continue
			}
			a.Val = whole
		}
	}
}

// maxLinks bounds the addresses that are taken from one page.
const maxLinks = 5000

// links are the addresses that the page names.
func (p *page) links() (list []*url.URL) {
	for n := range p.doc.Descendants() {
		if n.Type != html.ElementNode || len(list) >= maxLinks {
			continue
		}
		for _, key := range []string{"href", "src"} {
			if u, err := url.Parse(visibility.Attr(n, key)); err == nil && u.Host != "" {
				list = append(list, u)
			}
		}
	}
	return list
}

func (p *page) resolve(ref string) (string, bool) {
	u, err := p.base.Parse(strings.TrimSpace(ref))
	if err != nil {
		return "", false
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel", "ftp":
		return u.String(), true
	}
	return "", false
}

// chrome are the parts of a page that are about the site.
var chrome = cascadia.MustCompile("nav, body > header, body > footer, aside, " +
	"[role=navigation], [role=banner], [role=contentinfo], [role=search], form[role=search]")

// largePage is the size of a source beyond which its main part is not looked for, and maxDepths how deep its elements may lie,
// all together: readability looks at what is in each element over and over.
const (
	largePage = 1 << 20
	maxDepths = 200_000
)

// depths is how deep the nodes below n lie, all together.
func depths(n *html.Node) int { return sumDepths(n, 0) }

func sumDepths(n *html.Node, depth int) int {
	sum := depth
	for c := range n.ChildNodes() {
		sum += sumDepths(c, depth+1)
	}
	return sum
}

// content returns the main part of the page: what readability finds, unless that leaves out too much.
func (p *page) content() *html.Node {
	body := p.body()
	sizes := map[*html.Node]int{}
	whole := measure(body, sizes)
	for _, n := range cascadia.QueryAll(body, chrome) {
		if n.Parent != nil && sizes[n]*2 <= whole {
			n.Parent.RemoveChild(n)
		}
	}
	all := weight(body)
	if marked := onlyOne(body, "main, [role=main]"); marked != nil && weight(marked)*2 >= all {
		return marked
	}
	if all < 400 || p.size > largePage || depths(body) > maxDepths {
		return body
	}
	heading := cascadia.Query(body, firstHeading)
	found := p.readable()
	if found == nil || weight(found)*10 < all*6 || tables(found) < tables(body) || codes(found) < codes(body) {
		return body
	}
	p.part = true
	if heading != nil && !strings.Contains(oneLine(textOf(found)), oneLine(textOf(heading))) {
		top := element(atom.H1)
		top.AppendChild(textNode(oneLine(textOf(heading))))
		found.InsertBefore(top, found.FirstChild)
	}
	return found
}

var firstHeading = cascadia.MustCompile("h1")

// readable is what readability finds, nil where it finds nothing or fails.
func (p *page) readable() (found *html.Node) {
	defer func() {
		if recover() != nil {
			found = nil
		}
	}()
	parser := readability.NewParser()
	parser.KeepClasses = true
	article, err := parser.ParseDocument(p.doc, p.base)
	if err != nil || article.Node == nil {
		return nil
	}
	return article.Node
}

func (p *page) body() *html.Node {
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && (n.DataAtom == atom.Body || n.DataAtom == atom.Frameset) {
			return n
		}
	}
	return p.doc
}

// weight is how much text a node holds.
func weight(n *html.Node) (size int) {
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			size += len(strings.TrimSpace(d.Data))
		}
	}
	return size
}

func count(n *html.Node, a atom.Atom) (found int) {
	for d := range n.Descendants() {
		if d.DataAtom == a {
			found++
		}
	}
	return found
}

func tables(n *html.Node) int { return count(n, atom.Table) }
func codes(n *html.Node) int  { return count(n, atom.Pre) }

func onlyOne(n *html.Node, selector string) *html.Node {
	found := cascadia.QueryAll(n, cascadia.MustCompile(selector))
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// parseSelector reads a selector. Those that look at the same elements again and again are refused.
func parseSelector(selector string) (cascadia.SelectorGroup, error) {
	if strings.Count(strings.ToLower(selector), ":has") > 1 {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "selector %q has more than one :has; write a simpler one", short(selector))
	}
	compiled, err := cascadia.ParseGroup(selector)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "selector %q cannot be read: %v", short(selector), err)
	}
	return compiled, nil
}

// pick returns the elements that a selector is about, those inside others left out.
func (p *page) pick(selector string) ([]*html.Node, error) {
	compiled, err := parseSelector(selector)
	if err != nil {
		return nil, err
	}
	found := map[*html.Node]bool{}
	all := cascadia.QueryAll(p.doc, compiled)
	for _, n := range all {
		found[n] = true
	}
	var outer []*html.Node
	for _, n := range all {
		if !within(n.Parent, found) {
			outer = append(outer, n)
		}
	}
	if len(outer) == 0 {
		return nil, tongs.Errorf(tongs.CodeNoMatch,
			"no visible element of the page matches %q; fetch it without selector to see what there is", short(selector))
	}
	return outer, nil
}

// gather puts nodes under one new node.
func gather(nodes []*html.Node) *html.Node {
	root := &html.Node{Type: html.ElementNode, DataAtom: atom.Div, Data: "div"}
	for _, n := range nodes {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
		root.AppendChild(n)
	}
	return root
}

// markdown renders a part of a page.
func markdown(ctx context.Context, n *html.Node) (out string, err error) {
	normalise(n)
	defer func() {
		if p := recover(); p != nil {
			out, err = plainText(n), nil
		}
	}()
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false), commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip)),
		table.NewTablePlugin(table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithHeaderPromotion(true),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
		strikethrough.NewStrikethroughPlugin(),
	))
	text, err := conv.ConvertNode(n, converter.WithContext(ctx))
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return plainText(n), nil
	}
	return tidy(clean(string(text))), nil
}

// tidy takes away empty lines beyond one, and spaces at the ends of lines, outside of code.
func tidy(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	empty, fence := 0, ""
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		trimmed := strings.TrimLeft(line, " ")
		if mark := fenceMark(trimmed); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
		}
		if fence == "" {
			hard := strings.HasSuffix(line, "  ") && trimmed != ""
			if line = strings.TrimRight(line, " \t"); hard {
				line += "  "
			}
			if line == "" {
				if empty++; empty > 1 {
					continue
				}
			} else {
				empty = 0
			}
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n ")
}

func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

var errRender = errors.New("the page cannot be written out")

// sanitised is a part of a page as HTML that does nothing.
func sanitised(n *html.Node) (string, error) {
	var b strings.Builder
	if err := html.Render(&b, n); err != nil {
		return "", errors.Join(errRender, err)
	}
	policy := bluemonday.UGCPolicy()
	policy.AllowAttrs("class").Globally()
	policy.RequireNoFollowOnLinks(false)
	return clean(policy.Sanitize(b.String())), nil
}

// textOf is all text below a node.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
