package console

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// luminance is that of a colour of six hexadecimal digits, as WCAG defines it.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatalf("colour %q: %v", hex, err)
		}
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// Text can be read on what it stands on, in both themes; and the two ways to get the dark one are the same.
func TestContrast(t *testing.T) {
	data, err := os.ReadFile("assets/app.css")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?s):root[^{]*\{([^}]*)\}`).FindAllStringSubmatch(string(data), -1)
	if len(blocks) != 3 || strings.TrimSpace(blocks[1][1]) != strings.TrimSpace(blocks[2][1]) {
		t.Fatalf("%d sets of colours; the dark ones must be the same", len(blocks))
	}
	colour := regexp.MustCompile(`--([\w-]+): (#[0-9a-f]{6})`)
	for _, block := range blocks[:2] {
		is := map[string]string{}
		for _, m := range colour.FindAllStringSubmatch(block[1], -1) {
			is[m[1]] = m[2]
		}
		pairs := []string{
			"ink/bg", "ink/panel", "ink/sunk", "muted/bg", "muted/panel", "muted/sunk", "accent/bg", "accent/panel", "accent-ink/accent", "panel/good",
			"good/panel", "warn/panel", "bad/panel", "good/good-soft", "warn/warn-soft", "bad/bad-soft", "blue/blue-soft", "ink/add", "ink/del", "ink/soft", "bad/sunk", "good/sunk",
		}
		for i := range 8 {
			pairs = append(pairs, fmt.Sprintf("a%d/sunk", i))
		}
		for _, pair := range pairs {
			front, back, _ := strings.Cut(pair, "/")
			if is[front] == "" || is[back] == "" {
				t.Fatalf("%s: one of them is not defined", pair)
			}
			a, b := luminance(t, is[front]), luminance(t, is[back])
			if ratio := (max(a, b) + .05) / (min(a, b) + .05); ratio < 4.5 {
				t.Errorf("%s (%s on %s) has a contrast of %.2f, less than 4.5", pair, is[front], is[back], ratio)
			}
		}
	}
}

// Text is only ever set as text, and styles only by classes: what the policy of the pages would stop is not tried.
func TestScriptsSetTextOnly(t *testing.T) {
	entries, err := os.ReadDir("assets/js")
	if err != nil {
		t.Fatal(err)
	}
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\('style'|javascript:`)
	for _, e := range entries {
		data, err := os.ReadFile("assets/js/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if m := forbidden.Find(data); m != nil {
			t.Errorf("%s has %q", e.Name(), m)
		}
	}
}
