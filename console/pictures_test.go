package console

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of the pages to this directory")

// TestPictures writes pictures of each page, light and dark, for the documentation: scripts/console-pictures runs it.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		return // nothing is tested here: the other tests look at the same pages
	}
	s := newStand(t, demo)
	fillDemo(s)
	b := newTabAt(t, s, 1280, 800)
	for _, shot := range shots(s) {
		for _, theme := range []string{"light", "dark"} {
			_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
			})
			if err != nil {
				t.Fatal(err)
			}
			b.run(chromedp.EmulateViewport(shot.width, shot.height))
			b.open(shot.path)
			b.wait("the page", shot.ready)
			data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(*pictures, "console-"+shot.name+"-"+theme+".png"), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
