package web

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tongs-ai/tongs/internal/visibility"
)

// normalise gives a document the shapes that Markdown has: tables with a cell in each place, links around words rather than
// blocks, terms that can be told from what explains them, and no pictures that say nothing.
func normalise(doc *html.Node) {
	var tables, links, terms, pictures, headings []*html.Node
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Table:
			tables = append(tables, n)
		case atom.A:
			links = append(links, n)
		case atom.Dt:
			terms = append(terms, n)
		case atom.Img:
			pictures = append(pictures, n)
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			headings = append(headings, n)
		}
	}
	for _, n := range pictures {
		if strings.TrimSpace(visibility.Attr(n, "alt")) == "" && n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
	for _, n := range links {
		inline(n)
	}
	for _, n := range headings {
		shorten(n)
	}
	for _, n := range terms {
		embolden(n)
	}
	cells := maxCells
	for _, n := range slices.Backward(tables) { // inner ones first
		normaliseTable(n, &cells)
	}
	level(doc, 0)
}

func element(a atom.Atom) *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String()}
}

func textNode(s string) *html.Node { return &html.Node{Type: html.TextNode, Data: s} }

// moveChildren moves what is in one node to the end of another.
func moveChildren(from, to *html.Node) {
	for c := from.FirstChild; c != nil; c = from.FirstChild {
		from.RemoveChild(c)
		to.AppendChild(c)
	}
}

func rename(n *html.Node, a atom.Atom) { n.DataAtom, n.Data = a, a.String() }

func block(a atom.Atom) bool {
	before, _ := spacing(a)
	return before > 0
}

// inline makes blocks in a link words of it.
func inline(link *html.Node) {
	var blocks []*html.Node
	for n := range link.Descendants() {
		if n.Type == html.ElementNode && block(n.DataAtom) && n.DataAtom != atom.Pre {
			blocks = append(blocks, n)
		}
	}
	for _, n := range blocks {
		rename(n, atom.Span)
		n.Parent.InsertBefore(textNode(" "), n)
		n.Parent.InsertBefore(textNode(" "), n.NextSibling)
	}
	if parent := link.Parent; len(blocks) > 0 && parent != nil && block(parent.DataAtom) { // it was a block itself
		around := element(atom.Div)
		parent.InsertBefore(around, link)
		parent.RemoveChild(link)
		around.AppendChild(link)
	}
}

// shorten takes the blocks out of a heading that was not closed.
func shorten(heading *html.Node) {
	first := heading.FirstChild
	for first != nil && !(first.Type == html.ElementNode && block(first.DataAtom)) {
		first = first.NextSibling
	}
	if first == nil || first == heading.FirstChild || heading.Parent == nil {
		return
	}
	after := heading.NextSibling
	for first != nil {
		next := first.NextSibling
		heading.RemoveChild(first)
		heading.Parent.InsertBefore(first, after)
		first = next
	}
}

func embolden(term *html.Node) {
	if strings.TrimSpace(textOf(term)) == "" || count(term, atom.Strong)+count(term, atom.B)+count(term, atom.Pre) > 0 {
		return
	}
	strong := element(atom.Strong)
	moveChildren(term, strong)
	term.AppendChild(strong)
}

const (
	// maxCells is how many cells the tables of a page are given for their spans, maxSpan how far a cell reaches.
	maxCells = 5000
	maxSpan  = 50
	// maxNested is how deep lists and quotations lie in each other. What is deeper is shown less deep.
	maxNested = 12
)

// level makes lists and quotations that lie too deep plain blocks.
func level(n *html.Node, depth int) {
	for c := range n.ChildNodes() {
		inner := depth
		switch c.DataAtom {
		case atom.Ul, atom.Ol, atom.Blockquote:
			if inner++; inner > maxNested {
				rename(c, atom.Div)
			}
		case atom.Li:
			if depth > maxNested {
				rename(c, atom.Div)
			}
		}
		level(c, inner)
	}
}

// normaliseTable gives each place of a table a cell, or takes the table apart where it only serves to place things.
func normaliseTable(table *html.Node, left *int) {
	rows := rowsOf(table)
	if layout(table, rows) {
		takeApart(table)
		return
	}
	// taken are the rows that a cell above still reaches into, by column.
	taken := map[int]int{}
	add := func(row, before *html.Node) {
		if *left--; *left >= 0 {
			row.InsertBefore(element(atom.Td), before)
		}
	}
	for _, row := range rows {
		column := 0
		fill := func() {
			for ; taken[column] > 0; column++ {
				taken[column]--
				add(row, cellAt(row, column))
			}
		}
		for c := row.FirstChild; c != nil; {
			next := c.NextSibling
			if !isCell(c) {
				c = next
				continue
			}
			fill()
			flatten(c)
			wide, high := span(c, "colspan"), span(c, "rowspan")
			for i := range wide {
				if high > 1 {
					taken[column+i] = max(taken[column+i], high-1)
				}
				if i > 0 {
					add(row, next)
				}
			}
			column += wide
			c = next
		}
		fill()
	}
}

func isCell(n *html.Node) bool {
	return n.Type == html.ElementNode && (n.DataAtom == atom.Td || n.DataAtom == atom.Th)
}

// cellAt is the cell of a row at a place, nil at its end.
func cellAt(row *html.Node, at int) *html.Node {
	for c := range row.ChildNodes() {
		if !isCell(c) {
			continue
		}
		if at == 0 {
			return c
		}
		at--
	}
	return nil
}

// span reads and removes how far a cell reaches.
func span(cell *html.Node, key string) int {
	n, err := strconv.Atoi(strings.TrimSpace(visibility.Attr(cell, key)))
	cell.Attr = slices.DeleteFunc(cell.Attr, func(a html.Attribute) bool { return a.Key == key })
	if err != nil || n < 1 {
		return 1
	}
	return min(n, maxSpan)
}

func rowsOf(table *html.Node) (rows []*html.Node) {
	for part := range table.ChildNodes() {
		switch part.DataAtom {
		case atom.Tr:
			rows = append(rows, part)
		case atom.Thead, atom.Tbody, atom.Tfoot:
			for row := range part.ChildNodes() {
				if row.DataAtom == atom.Tr {
					rows = append(rows, row)
				}
			}
		}
	}
	return rows
}

// layout reports whether a table only serves to place things on the page.
func layout(table *html.Node, rows []*html.Node) bool {
	if visibility.Attr(table, "role") == "presentation" || visibility.Attr(table, "role") == "none" {
		return true
	}
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.Hr, atom.Form, atom.Center, atom.Blockquote, atom.Article, atom.Section:
			return true
		}
	}
	return len(rows) == 1 && count(table, atom.Th) == 0 && weight(table) > 500
}

// takeApart makes blocks of a table's cells.
func takeApart(table *html.Node) {
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
			if owner(n) == table {
				rename(n, atom.Div)
			}
		}
	}
	rename(table, atom.Div)
}

// owner is the table that a part belongs to.
func owner(n *html.Node) *html.Node {
	for n = n.Parent; n != nil && n.DataAtom != atom.Table; n = n.Parent {
	}
	return n
}

// flatten makes lists and code in a cell parts of its line.
func flatten(cell *html.Node) {
	var lists, codes []*html.Node
	for n := range cell.Descendants() {
		switch n.DataAtom {
		case atom.Ul, atom.Ol, atom.Dl, atom.Li, atom.Dd, atom.Dt:
			lists = append(lists, n)
		case atom.Pre:
			codes = append(codes, n)
		}
	}
	for _, n := range lists {
		item := n.DataAtom == atom.Li || n.DataAtom == atom.Dd
		if item && previousElement(n) != nil {
			n.Parent.InsertBefore(textNode("; "), n)
		}
		rename(n, atom.Span)
	}
	for _, n := range codes {
		said := oneLine(textOf(n))
		for c := n.FirstChild; c != nil; c = n.FirstChild {
			n.RemoveChild(c)
		}
		rename(n, atom.Code)
		n.AppendChild(textNode(said))
	}
}

func previousElement(n *html.Node) *html.Node {
	for n = n.PrevSibling; n != nil && n.Type != html.ElementNode; n = n.PrevSibling {
	}
	return n
}
