package web

import (
	"fmt"
	"strings"
	"testing"
)

// way is one way to hide text from the people who look at a page. In body, SECRET stands for the text.
type way struct{ name, head, body string }

func css(name, rules string) way {
	return way{name, "<style>" + rules + "</style>", `<div class="x" id="i" data-k="v">SECRET</div>`}
}

func styled(name, style string) way {
	return way{name, "", `<div style='` + style + `'>SECRET</div>`}
}

// hidingWays are ways to hide text, all of which Chromium shows nothing of (TestWaysHideInABrowser).
var hidingWays = []way{
	// Colours.
	styled("white on an unset background", "color:#fff"),
	styled("nearly white", "color:#fdfdfd"),
	styled("rgb with spaces", "color:rgb(255 255 255)"),
	styled("rgb in percent", "color:rgb(100%,100%,100%)"),
	styled("rgba without alpha", "color:rgba(0,0,0,.02)"),
	styled("hsl", "color:hsl(0 0% 100%)"),
	styled("hwb", "color:hwb(0 100% 0%)"),
	styled("lab", "color:lab(100 0 0)"),
	styled("lch", "color:lch(100% 0 0)"),
	styled("oklch", "color:oklch(1 0 0)"),
	styled("oklab", "color:oklab(100% 0 0)"),
	styled("color()", "color:color(srgb 1 1 1)"),
	styled("color-mix", "color:color-mix(in srgb, white 99%, black)"),
	styled("short hex with alpha", "color:#0001"),
	styled("long hex with alpha", "color:#00000005"),
	styled("a named colour", "color:ghostwhite"),
	styled("a system colour", "color:Canvas"),
	styled("light-dark()", "color:light-dark(white, black)"),
	styled("fill colour", "-webkit-text-fill-color:white"),
	styled("fill transparent", "-webkit-text-fill-color:transparent"),
	styled("calc in a colour", "color:rgb(calc(200 + 55), 255, 255)"),
	styled("the background of the element", "background:#123456;color:#123457"),
	styled("background shorthand with more", "background:no-repeat navy;color:navy"),
	{"font colour", "", `<font color="#ffffff">SECRET</font>`},
	{"font colour by name", "", `<font color="White">SECRET</font>`},
	{"bgcolor", "", `<table bgcolor=red width=300><tr><td><font color=red>SECRET</font></table>`},
	{"bgcolor of a row", "", `<table width=300><tr bgcolor="#00f"><td style="color:blue">SECRET</table>`},
	{"inherited colour", "", `<div style="color:white"><p><b>SECRET</b></p></div>`},
	{"currentcolor", "", `<div style="color:white"><p style="color:currentColor">SECRET</p></div>`},
	{"background by currentcolor", "", `<div style="color:teal"><p style="background:currentColor">SECRET</p></div>`},
	{"links of the colour", "<style>a:link{color:#fff}</style>", `<a href="/l">SECRET</a>`},
	{"any link", "<style>:any-link{color:#fff}</style>", `<a href="/l">SECRET</a>`},
	// Rules within others.
	css("media all", "@media all{.x{display:none}}"),
	css("media screen", "@media screen and (min-width:1px){.x{display:none}}"),
	css("media not print", "@media not print{.x{display:none}}"),
	css("media range", "@media (width > 10px){.x{display:none}}"),
	css("media or", "@media print, (max-width: 99999px){.x{display:none}}"),
	css("supports", "@supports (display:block){.x{display:none}}"),
	css("layer", "@layer a{.x{display:none}}"),
	css("layers in layers", "@layer a{@layer b{@media all{.x{display:none}}}}"),
	css("scope", "@scope (body){.x{display:none}}"),
	css("container", "body{container-type:inline-size}@container (min-width:1px){.x{display:none}}"),
	css("nested", "body{& .x{display:none}}"),
	css("nested without ampersand", "body{.x{display:none}}"),
	css("nested twice", "html{body{color:#222;div&, .x{display:none}}}"),
	css("nested with class", "div{&.x{display:none}}"),
	css("media inside a rule", ".x{@media all{display:none}}"),
	css("comment marks of HTML", "<!-- .x{display:none} -->"),
	css("charset before", "@charset 'utf-8';.x{display:none}"),
	css("after a broken declaration", ".x{foo bar;;: 1;display:none"),
	css("string with a brace", `.y::before{content:"}"} .x{display:none}`),
	// Sizes that nothing inside has a part in, what is drawn over the letters, and what is behind the viewer.
	css("contain size", ".x{contain:size;overflow:hidden}"),
	css("contain strict", ".x{contain:strict}"),
	css("min() with a percentage", ".x{width:min(0px,100%);overflow:hidden;white-space:nowrap;height:1.2em}"),
	css("behind the viewer", ".x{transform:perspective(1px) translateZ(2px)}"),
	css("a stroke over the letters", ".x{-webkit-text-stroke:30px white}"),
	{"mathcolor", "", `<math><mtext mathcolor="white">SECRET</mtext></math>`},
	{"mathsize", "", `<math><mtext mathsize="0">SECRET</mtext></math>`},
	{"mspace", "", `<math><mspace>SECRET</mspace></math>`},
	// Selectors.
	css(":is()", ":is(.x,.y){display:none}"),
	css(":where()", ":where(div.x){display:none}"),
	css(":not()", "div:not(.y):not(:hover){display:none}"),
	css(":nth-of-type", "div:nth-of-type(1){display:none}"),
	css(":nth-child of", "div:nth-child(odd of .x), div:nth-last-of-type(n){display:none}"),
	css(":has()", "body:has(p) .x{display:none}"),
	css(":has() of siblings", "div:has(~ p){display:none}"),
	css("attribute", "[data-k]{display:none}"),
	css("attribute value", `[data-k="V" i]{display:none}`),
	css("attribute prefix", "[class^=x]{display:none}"),
	css("sibling", "h1 + div{display:none}"),
	css("later sibling", "h1 ~ .x{display:none}"),
	css("child", "body > main > .x{display:none}"),
	css("escaped class", `.\78{display:none}`),
	css("id", "#i{display:none}"),
	css(":root", ":root .x{display:none}"),
	css(":lang", ":lang(en).x{display:none}"),
	css("everything that is not", "main > :not(h1, p){display:none}"),
	css("first-line", ".x::first-line{color:#fff}"),
	css("an unknown pseudo-class beside", ".y:nonesuch{color:red} .x{display:none}"),
	css(":first-of-type", "div:first-of-type{visibility:hidden}"),
	css(":defined", ".x:defined{display:none}"),
	// Values.
	css("var()", ":root{--a:none}.x{display:var(--a)}"),
	css("var() with a fallback", ".x{display:var(--nope,none)}"),
	css("var() of var()", ":root{--a:var(--b);--b:#fff}.x{color:var(--a)}"),
	css("@property", "@property --p{syntax:'*';inherits:false;initial-value:none}.x{display:var(--p)}"),
	styled("calc()", "opacity:calc(1 - 1)"),
	styled("min()", "font-size:min(1px,16px)"),
	styled("clamp()", "font-size:clamp(0px,1px,2px)"),
	styled("calc() of lengths", "position:absolute;left:calc(-50 * 200px)"),
	css("important", ".x{display:none!important}.x{display:block}"),
	css("escaped value", `.x{display:\6e one}`),
	css("vendor", ".x{-webkit-opacity:1;opacity:0}"),
	css("inset shorthand", ".x{position:absolute;inset:-9999px auto auto -9999px}"),
	css("animation", "@keyframes a{from{opacity:0}to{opacity:0}}.x{animation:a 9s infinite}"),
	css("animation that ends", "@keyframes a{to{visibility:hidden}}.x{animation:a 0s forwards}"),
	// Places.
	styled("far right", "position:absolute;left:99999px"),
	styled("far right by margin", "margin-left:99999px"),
	styled("far right by transform", "transform:translateX(99999px)"),
	styled("translate", "translate:-9999px"),
	styled("translateY", "transform:translate(0,-9999px)"),
	styled("just above the page", "position:absolute;top:-60px"),
	styled("indent to the right", "text-indent:9999px;overflow:hidden;white-space:nowrap"),
	styled("negative margin shorthand", "margin:-9999px 0 0 -9999px"),
	styled("padding", "height:20px;padding-top:9999px;box-sizing:border-box;margin-bottom:-9999px;overflow:hidden;max-height:20px"),
	// Sizes.
	styled("percent of a font", "font-size:1%"),
	styled("tiny font", "font-size:2.5px"),
	{"small in small", "", `<div style="font-size:.2em"><p style="font-size:.2em">SECRET</p></div>`},
	{"opacity of opacity", "", `<div style="opacity:.2"><p style="opacity:.2">SECRET</p></div>`},
	styled("zoom", "zoom:0.01"),
	styled("scaleX", "transform:scaleX(0)"),
	styled("scale property", "scale:0.01"),
	styled("scale small", "transform:scale(.05)"),
	styled("matrix", "transform:matrix(0,0,0,0,0,0)"),
	styled("rotated to its edge", "transform:rotateY(90deg)"),
	styled("its back", "transform:rotateY(180deg);backface-visibility:hidden"),
	styled("no width but scroll", "width:0;height:0;overflow:auto"),
	styled("clip", "overflow:clip;height:0"),
	styled("contain", "contain:strict;height:0"),
	styled("letters over each other", "letter-spacing:-99px"),
	styled("size-adjust of a font", "font-size-adjust:0"),
	css("a font without size", "@font-face{font-family:z;src:local(Arial),local('DejaVu Sans'),local('Liberation Sans');size-adjust:0%}.x{font-family:z}"),
	styled("blur", "filter:blur(40px)"),
	styled("filter of several", "filter:grayscale(1) opacity(0%)"),
	styled("masked letters", "-webkit-text-security:disc"),
	styled("mask", "mask-image:linear-gradient(transparent,transparent)"),
	css("blend", "body{background:#fff}.x{color:#000;mix-blend-mode:screen}"),
	styled("circle", "clip-path:circle(0 at 50% 50%)"),
	styled("ellipse", "clip-path:ellipse(0px 10px)"),
	styled("polygon", "clip-path:polygon(0 0, 10px 0, 20px 0)"),
	styled("polygon elsewhere", "clip-path:polygon(-50px -50px, -10px -50px, -10px -10px)"),
	styled("path", `clip-path:path("M0 0")`),
	styled("inset of two", "clip-path:inset(0 50%)"),
	styled("clip of nothing", "position:absolute;clip:rect(1px 1px 1px 1px)"),
	styled("replaced", `content:url("data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=")`),
	styled("collapsed grid", "display:grid;grid-template-rows:0fr;overflow:hidden;height:0"),
	styled("behind", "position:relative;z-index:-1"),
	styled("content-visibility", "content-visibility:hidden"),
	// Elements.
	{"popover", "", `<div popover>SECRET</div>`},
	{"until found", "", `<div hidden="until-found">SECRET</div>`},
	{"hidden with a value", "", `<div hidden="false">SECRET</div>`},
	{"closed details", "", `<details><summary>More</summary>SECRET</details>`},
	{"shadow root", "", `<div><template shadowrootmode="open"><p></p></template>SECRET</div>`},
	{"progress", "", `<progress value=1 max=2>SECRET</progress>`},
	{"meter", "", `<meter value=.5>SECRET</meter>`},
	{"annotation", "", `<math><semantics><mi>a</mi><annotation encoding="x">SECRET</annotation></semantics></math>`},
	{"ruby parenthesis", "", `<ruby>a<rp>SECRET</rp><rt>b</rt></ruby>`},
	{"override of direction", "", `<bdo dir=rtl>SECRET</bdo>`},
	styled("override by style", "unicode-bidi:bidi-override;direction:rtl"),
	// Sheets elsewhere in the page.
	{"data sheet", `<link rel=stylesheet href="data:text/css,.x%7Bdisplay:none%7D">`, `<div class=x>SECRET</div>`},
	{"data sheet in base64", `<link rel="preload stylesheet" href="data:text/css;base64,Lnh7ZGlzcGxheTpub25lfQ==">`, `<div class=x>SECRET</div>`},
	{"imported data", `<style>@import url("data:text/css,.x{display:none}");</style>`, `<div class=x>SECRET</div>`},
	{"imported string", `<style>@import "data:text/css,.x{display:none}" layer(a);</style>`, `<div class=x>SECRET</div>`},
	{"style in the body", "", `<style>.x{display:none}</style><div class=x>SECRET</div>`},
	{"style in a picture", "", `<svg width=0 height=0><style>.x{display:none}</style></svg><div class=x>SECRET</div>`},
	{"after a long sheet", "<style>/*" + strings.Repeat("filler ", 60_000) + "*/.x{display:none}</style>", `<div class=x>SECRET</div>`},
	{"after many rules", "<style>" + strings.Repeat(".y{display:none}.z{color:red}", 3000) + ".x{display:none}</style>", `<div class=x>SECRET</div>`},
	{"most of the page", "<style>.x{display:none}</style>", `<div class=x>` + strings.Repeat("SECRET text that goes on. ", 400) + `</div>`},
	{"quirks", "<style>.HIDE{display:none}</style>", `<div class=hide>SECRET</div>`},
	// Styles.
	styled("escape in a value", `display:n\6f ne`),
	styled("escape of a letter", `dis\play:none`),
	styled("comment within", "display:/**/none/**/"),
	styled("two of one", "display:none;display:nonesuch"),
	styled("string with a semicolon", `--a:";";display:none`),
}

// pageOf is a page with text hidden in one way, and text in plain view before and after.
func pageOf(w way, secret string) string {
	doctype := "<!DOCTYPE html>"
	if w.name == "quirks" {
		doctype = ""
	}
	return fmt.Sprintf(`%s<html lang=en><head><meta charset=utf-8><title>T</title>%s</head><body><main><h1>Head</h1>%s<p>VISIBLE %s</p></main></body></html>`,
		doctype, w.head, strings.ReplaceAll(w.body, "SECRET", secret), strings.Repeat("and then some more to read ", 12))
}

// unmarked is a text without what is marked as of unknown visibility.
func unmarked(text string) string {
	for {
		before, rest, ok := strings.Cut(text, "⟦visibility unknown")
		if !ok {
			return text
		}
		_, after, _ := strings.Cut(rest, "⟧")
		text = before + after
	}
}

// Text that people do not see does not reach the model as if they did, in any format but raw.
func TestWaysToHide(t *testing.T) {
	for _, w := range hidingWays {
		t.Run(w.name, func(t *testing.T) {
			for _, format := range []string{"markdown", "text", "html"} {
				out := shown(t, Input{Format: format}, answerOf(t, []byte(pageOf(w, "SECRETS")), "text/html; charset=utf-8"))
				if strings.Contains(unmarked(out.Body), "SECRETS") {
					t.Errorf("%s shows what is hidden: %.300q", format, out.Body)
				}
				if !strings.Contains(out.Body, "VISIBLE") || !strings.Contains(out.Body, "Head") {
					t.Errorf("%s lost what is in plain view: %q", format, out.Body)
				}
			}
		})
	}
}

// trickyWays hide text by making a reader of styles believe that something shows it.
var trickyWays = []way{
	css("rem of a small root", "html{font-size:1px}main{font-size:16px}.x{font-size:2rem}"),
	css("a rule that browsers drop", ".x{color:#fff}.x,.y:nonesuch{color:#000}"),
	css("a namespace that is not there", ".x{color:#fff}foo|div.x{color:#000}"),
	css("a value in other letters", ".x{color:#fff}[data-k='V']{color:#000}"),
	css("a class in other letters", ".x{color:#fff}div.X{color:#000}"),
	css("a colour that is none", ".x{color:#fff;color:#00000}"),
	css("a colour too many", ".x{color:#fff;color:#000 #000}"),
	css("a background that is none", ".x{color:#fff;background:#000 #000}"),
	css("a background with a strange word", ".x{color:#fff;background:#000 nonesuch}"),
	css("a background colour of two words", ".x{color:#fff;background-color:#000 none}"),
	css("a scheme that is none", ":root{color-scheme:5 dark}.x{color:#fff}"),
	css("the weight of nth-child of", ":nth-child(n of #i){color:#fff}.x.x{color:#000}"),
	css("declarations after rules", ".x{&{color:#000}color:#fff}"),
	css("an import too late", ".x{color:#fff}@import 'data:text/css,.x{color:%23000}';"),
	css("layers in another order", "@layer a.b{.x{color:#000}}@layer a{.x{color:#fff}}"),
	{"a sheet of another type", `<style>.x{color:#fff}</style><link rel=stylesheet href="data:text/plain,.x{color:%23000}">`, `<div class=x>SECRET</div>`},
	{"a sheet of another title", `<style>.x{color:#fff}</style><style title=a>.y{color:red}</style><style title=b>.x{color:#000}</style>`, `<div class=x>SECRET</div>`},
	{"a sheet in a template", `<style>.x{color:#fff}</style><template><style>.x{color:#000}</style></template>`, `<div class=x>SECRET</div>`},
	{"a policy that forbids styles", `<meta http-equiv="Content-Security-Policy" content="style-src 'none'"><style>font{color:#000!important}</style>`, `<font color=white>SECRET</font>`},
	{"a scheme of a part", "", `<div style="color-scheme:dark;color:#fff">SECRET</div>`},
	{"inherit of a link", "", `<div style="color:#fff"><a href="/l" style="color:inherit">SECRET</a></div>`},
	{"unset of a link", "", `<div style="color:#fff"><a href="/l" style="color:unset">SECRET</a></div>`},
	{"fill that follows", "", `<div style="-webkit-text-fill-color:currentcolor"><p style="color:#fff">SECRET</p></div>`},
	{"mark without its colour", "", `<mark style="background:transparent;color:#fff">SECRET</mark>`},
	{"mark with none", "", `<mark style="background:none;color:#fff">SECRET</mark>`},
	{"a background without height", "", `<div style="background:#000;height:0"><p style="color:#fff">SECRET</p></div>`},
	{"a background around a float", "", `<div style="background:#000"><p style="color:#fff;float:left">SECRET</p></div>`},
	{"a background elsewhere", "", `<div style="background:#000"><p style="color:#fff;position:absolute;top:150px">SECRET</p></div>`},
	{"a background that is not drawn", "", `<div style="background:#000;display:contents"><p style="color:#fff">SECRET</p></div>`},
	{"a background of a hidden box", "", `<div style="background:#000;visibility:hidden"><p style="color:#fff;visibility:visible">SECRET</p></div>`},
	{"a background of no size", "", `<div style="background:linear-gradient(#000,#000) 0 0/0 0 no-repeat;color:#fff">SECRET</div>`},
	{"a background around a block", "", `<span style="background:#000"><div style="color:#fff">SECRET</div></span>`},
	{"a background moved from", "", `<div style="background:#000"><p style="color:#fff;position:relative;top:90px;left:5px">SECRET</p></div>`},
	{"on a picture", "", `<div style="color:#000;background:url('data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22><rect width=%229999%22 height=%229999%22/></svg>')">SECRET</div>`},
	{"under a cover", "", `<div style="position:relative">SECRET<div style="position:absolute;inset:0;background:#fff"></div></div>`},
	css("under a cover of a style", ".x{position:relative}.x::after{content:'';position:absolute;inset:0;background:#fff}"),
	css("under a cover by size", ".x{position:relative}.x::before{content:'';position:absolute;top:0;left:0;width:100%;height:100%;background:#fff}"),
	{"flex without room", "", `<div style="display:flex"><p style="flex:0 0 0;overflow:hidden;white-space:nowrap;min-width:0">SECRET</p></div>`},
	{"far back", "", `<div style="perspective:1px"><p style="transform:translateZ(-999999px)">SECRET</p></div>`},
	styled("around a far point", "transform-origin:-9999px 0;transform:rotate(90deg)"),
	styled("a place by a function", "position:absolute;left:calc(-1px * pow(10, 4))"),
	{"the rest of a long line", "", `<div style="white-space:nowrap;overflow:hidden;width:100px">` + strings.Repeat("filler ", 60) + `SECRET</div>`},
	{"the rest of a box", "", `<div style="height:20px;overflow:hidden">` + strings.Repeat("filler ", 400) + `SECRET</div>`},
	{"the rest of a clamp", "", `<div style="display:-webkit-box;-webkit-line-clamp:1;-webkit-box-orient:vertical;overflow:hidden">` + strings.Repeat("filler ", 400) + `SECRET</div>`},
	{"a phantom", "", `<math><mi>a</mi><mphantom><mtext>SECRET</mtext></mphantom></math>`},
	{"a title in the body", "", `<p>a</p><title>SECRET</title>`},
	{"a collapsed column", "", `<table width=300><colgroup><col style="visibility:collapse"><col></colgroup><tr><td>SECRET<td>b</table>`},
	css("an unlayered loser", "@layer a{.x{color:#fff!important}}.x{color:#000!important}"),
	{"the end of its mark", "<style>.x{color:#fff}.x:nonesuch{color:#000}</style>", `<details><summary>More</summary>a⟧ b SECRET</details>`},
	css("opacity of the parent", "main > div{opacity:.3}.x{opacity:.3}main{opacity:.4}main p{opacity:1}"),
	css("everything in variables", ":root{--c:255 255 255;--o:0}.x{color:rgb(var(--c) / var(--o))}"),
	css("a loop of variables", ":root{--a:var(--b,#fff);--b:var(--a)}body{color:#fff}main>h1,main>p{color:#000}.x{color:var(--a)}"),
	css("logical sides", ".x{position:absolute;inset-inline:-9999px auto}"),
	css("attr() as a value", "@property --q{syntax:'<number>';inherits:false;initial-value:0}.x{opacity:var(--q)}"),
	css("container style query", "main{--h:1}@container style(--h:1){.x{display:none}}"),
	css("if()", ".x{display:if(media(width > 1px): none; else: block)}"),
}

// What tries to be believed is not.
func TestTrickyWays(t *testing.T) {
	for _, w := range trickyWays {
		for _, format := range []string{"markdown", "text", "html"} {
			out := shown(t, Input{Format: format}, answerOf(t, []byte(pageOf(w, "SECRETS")), "text/html; charset=utf-8"))
			if !strings.HasPrefix(out.Body, "⟦visibility unknown⟧") && strings.Contains(unmarked(out.Body), "SECRETS") {
				t.Errorf("%s: %s shows what is hidden: %.200q", w.name, format, out.Body)
			}
			if !strings.Contains(out.Body, "VISIBLE") {
				t.Errorf("%s: %s lost what is in plain view: %q", w.name, format, out.Body)
			}
		}
	}
}
