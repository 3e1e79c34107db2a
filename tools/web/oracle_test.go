package web

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// shownWays are ways that look like hiding, or are used along with it, and after which people read the text.
var shownWays = []way{
	styled("white on black", "background:#000;color:#fff"),
	{"white in black", "", `<div style="background:black"><p style="color:white">SECRET</p></div>`},
	{"white in a black table", "", `<table bgcolor=black><tr><td><font color=white>SECRET</font></table>`},
	styled("gradient text", "background:linear-gradient(90deg,red,blue);-webkit-background-clip:text;color:transparent"),
	styled("white on a gradient", "background:linear-gradient(#036,#012);color:#fff"),
	styled("grey", "color:#767676"),
	styled("light grey", "color:#bbb"),
	styled("half opacity", "opacity:.5"),
	{"letters in a list without space", "", `<div style="font-size:0"><span style="font-size:16px">SECRET</span></div>`},
	{"visible in hidden", "", `<div style="visibility:hidden"><p style="visibility:visible">SECRET</p></div>`},
	{"link in white", "", `<div style="color:white"><a href="/l">SECRET</a></div>`},
	css("print", "@media print{.x{display:none}}"),
	css("telephones", "@media (max-width:600px){.x{display:none}}"),
	css("telephones by range", "@media (width <= 40em){.x{display:none}}"),
	css("hover", ".x:hover{display:none}"),
	css("before", ".x::before{content:'';display:none;color:#fff}"),
	css("another class", ".y{display:none}.x .x{display:none}"),
	css("not of this", ".x:not(#i){display:none}"),
	css("a third one", "div:nth-of-type(3){display:none}"),
	css("dark mode", "body{color:#222;background:#fff}@media (prefers-color-scheme:dark){body{color:#eee;background:#111}}"),
	css("dark mode by variables", ":root{--a:#222;--b:#fff}@media (prefers-color-scheme:dark){:root{--a:#eee;--b:#111}}body{color:var(--a);background:var(--b)}"),
	css("theme that is not chosen", `[data-theme=dark]{--a:#fff}:root{--a:#222}.x{color:var(--a)}`),
	css("a colour that loses", "#i{color:#222}.x{color:#fff}"),
	css("a colour that comes later", ".x{color:#fff}.x{color:#222}"),
	css("layers", "@layer a{.x{color:#fff}}.x{color:#222;background:#eee}"),
	css("fades in", "@keyframes f{from{opacity:0}to{opacity:1}}.x{animation:f 1ms both}"),
	css("button", ".x{display:inline-block;background:#0a58ca;color:#fff;padding:4px 9px;border-radius:4px}"),
	css("nested for others", "body{.y{display:none}}"),
	styled("placed", "position:absolute;top:200px;left:20px"),
	styled("moved a little", "position:relative;top:-4px;left:-8px"),
	styled("negative margin", "margin-left:-20px;padding-left:40px"),
	styled("overflow with room", "overflow:hidden;height:200px"),
	styled("no height, but no cut", "height:0"),
	styled("turned", "transform:rotate(3deg) scale(.9)"),
	styled("clip with room", "clip-path:inset(0)"),
	styled("zero in a colour", "color:rgb(0 0 0 / 100%)"),
	styled("calc", "margin-left:calc(100% - 99%);font-size:calc(1rem + .2vw)"),
	styled("inherit", "color:inherit;display:inherit"),
	styled("important", "color:#111 !important"),
	styled("unset variable", "color:var(--not-set)"),
	{"open details", "", `<details open><summary>More</summary>SECRET</details>`},
	{"open dialog", "", `<dialog open>SECRET</dialog>`},
	{"marquee", "", `<center><b>SECRET</b></center>`},
	{"style in a template", `<template><style>.x{display:none}</style></template>`, `<div class=x>SECRET</div>`},
	{"style for print", `<style media=print>.x{display:none}</style>`, `<div class=x>SECRET</div>`},
	{"style of another kind", `<style type="text/plain">.x{display:none}</style>`, `<div class=x>SECRET</div>`},
	{"mark", "", `<mark>SECRET</mark>`},
	{"button element", "", `<div style="color:#fff;background:#123"><button>SECRET</button></div>`},
}

// What people read is there, and not marked.
func TestWaysToShow(t *testing.T) {
	for _, w := range shownWays {
		for _, format := range []string{"markdown", "text", "html"} {
			out := shown(t, Input{Format: format}, answerOf(t, []byte(pageOf(w, "SECRETS")), "text/html; charset=utf-8"))
			if !strings.Contains(unmarked(out.Body), "SECRETS") {
				t.Errorf("%s: %s does not show plainly what people read: %.300q", w.name, format, out.Body)
			}
		}
	}
}

// The two tables of ways say what a browser does: a picture of the page is the same whatever the text says, or it is not.
func TestWaysInABrowser(t *testing.T) {
	var proved []way
	for _, w := range slices.Concat(hidingWays, trickyWays) {
		if notInAPicture[w.name] == "" {
			proved = append(proved, w)
		}
	}
	hiding := len(proved)
	proved = append(proved, shownWays...)
	for i, same := range newPictures(t, proved).compare() {
		switch {
		case i < hiding && !same:
			t.Errorf("Chromium shows the text of %q", proved[i].name)
		case i >= hiding && same:
			t.Errorf("Chromium does not show the text of %q", proved[i].name)
		}
	}
}

// notInAPicture are ways that a picture does not prove, each with what people see.
var notInAPicture = map[string]string{
	"override of direction": "the letters in another order", "override by style": "the letters in another order",
	"nearly white": "a trace that nobody reads", "rgba without alpha": "a trace", "short hex with alpha": "a trace", "long hex with alpha": "a trace",
	"a named colour": "a trace", "color-mix": "a trace", "the background of the element": "a trace",
	"percent of a font": "a line of dots", "tiny font": "a line of dots", "small in small": "a line of dots", "opacity of opacity": "a trace",
	"scale small": "a dot", "scale property": "a dot", "zoom": "a dot", "min()": "dots", "clamp()": "dots",
	"masked letters": "a disc for each letter", "blur": "a cloud", "letters over each other": "one heap of letters",
	"rem of a small root": "dots", "a background around a float": "the text beside it moves", "opacity of the parent": "a trace",
	"behind": "nothing only where the page has a background", "first-line": "the first line is hidden, the rest is not",
}

// pictures compares how pages look, each in a frame of its own.
type pictures struct {
	t    *testing.T
	ctx  context.Context
	url  string
	ways []way
}

// Frames are this high, and so many are in one picture.
const frameHeight, frameCount = 300, 12

func newPictures(t *testing.T, ways []way) *pictures {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Fatal("the tests of hidden text need Chromium, and there is none; 'test/scripts/needs' installs it")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		at, _ := strconv.Atoi(r.FormValue("at"))
		if r.URL.Path == "/one" {
			_, _ = io.WriteString(w, pageOf(ways[at], r.FormValue("text")))
			return
		}
		_, _ = io.WriteString(w, "<!DOCTYPE html><body style='margin:0'>")
		for i := at; i < min(at+frameCount, len(ways)); i++ {
			_, _ = fmt.Fprintf(w, `<iframe style="display:block;border:0;width:1366px;height:%dpx" src="/one?at=%d&text=%s"></iframe>`,
				frameHeight, i, r.FormValue("text"))
		}
	}))
	t.Cleanup(server.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(60*time.Second), chromedp.Flag("hide-scrollbars", true))
	allocated, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(func() { end(); endAllocator() })
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1366, frameHeight*frameCount)); err != nil {
		t.Fatal(err)
	}
	return &pictures{t, ctx, server.URL, ways}
}

// compare reports of each way whether its page looks the same with one text and with another of its length.
func (p *pictures) compare() (same []bool) {
	p.t.Helper()
	for at := 0; at < len(p.ways); at += frameCount {
		one, other := p.take(at, "SECRETS"), p.take(at, "SFCRLTZ")
		for i := range min(frameCount, len(p.ways)-at) {
			same = append(same, bytes.Equal(frameOf(one, i), frameOf(other, i)))
		}
	}
	return same
}

// frameOf are the pixels of the i-th frame.
func frameOf(m *image.NRGBA, i int) []byte {
	return m.Pix[i*frameHeight*m.Stride : (i+1)*frameHeight*m.Stride]
}

func (p *pictures) take(at int, text string) *image.NRGBA {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(fmt.Sprintf("%s/?at=%d&text=%s", p.url, at, text))); err != nil {
		p.t.Fatal(err)
	}
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		p.t.Fatal(err)
	}
	m := image.NewNRGBA(image.Rect(0, 0, 1366, frameHeight*frameCount))
	draw.Draw(m, m.Bounds(), decoded, image.Point{}, draw.Src)
	return m
}
