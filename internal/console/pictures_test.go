package console

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of the pages to this directory")

// TestPictures writes pictures of each page, light and dark, for the documentation: test/scripts/console-pictures runs it.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		return // nothing is tested here: the other tests look at the same pages
	}
	s := newStand(t, inHome, demo)
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
			if err := os.WriteFile(filepath.Join(*pictures, "console-"+shot.name+"-"+theme+".png"), small(t, data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	insightPictures(t, *pictures)
}

// inHome puts the workspace where people have theirs, since pictures show its path.
func inHome(s *stand) {
	home := s.t.TempDir()
	s.t.Setenv("HOME", home)
	if s.dir = filepath.Join(home, "src", "cache"); os.MkdirAll(s.dir, 0o755) != nil {
		s.t.Fatal("no home")
	}
}

// apart is how much two colours differ.
func apart(a, b color.RGBA) int {
	far := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return max(far(a.R, b.R), far(a.G, b.G), far(a.B, b.B))
}

// small returns the picture with the 256 colours that it has most of.
func small(t *testing.T, data []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	b := from.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(x, y color.RGBA) int {
		return cmp.Or(counts[y]-counts[x], int(x.R)-int(y.R), int(x.G)-int(y.G), int(x.B)-int(y.B))
	})
	palette := color.Palette{}
	for _, c := range colours { // half of them as often as they are, the others where nothing is near
		if len(palette) < 128 || len(palette) < 256 && apart(palette.Convert(c).(color.RGBA), c) > 20 {
			palette = append(palette, c)
		}
	}
	nearest := map[color.RGBA]uint8{}
	to := image.NewPaletted(b, palette)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := at(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
