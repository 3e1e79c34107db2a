package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browsing is one browser for all the tests of the package, started when the first of them needs it.
var browsing struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browsing.stop != nil {
		browsing.stop()
	}
	os.Exit(code)
}

func openedBrowser(t *testing.T) context.Context {
	t.Helper()
	browsing.once.Do(func() {
		var path string
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
			if found, err := exec.LookPath(name); err == nil {
				path = found
				break
			}
		}
		if path == "" {
			browsing.err = fmt.Errorf("the tests of the console need Chromium, and there is none; 'test/scripts/needs' installs it")
			return
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(60*time.Second), chromedp.Flag("hide-scrollbars", true))
		allocated, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, end := chromedp.NewContext(allocated)
		browsing.err = chromedp.Do(ctx)
		browsing.ctx = ctx
		browsing.stop = func() { end(); endAllocator() }
	})
	if browsing.err != nil {
		t.Fatal(browsing.err)
	}
	return browsing.ctx
}

// tab is a page of a browser of its own, without the cookies of others. What it must never do fails the test: report an
// error, or ask another server for something.
type tab struct {
	t    *testing.T
	s    *stand
	ctx  context.Context
	mu   sync.Mutex
	got  int64
	bad  []string
	quit bool
}

// newTab returns a tab that is logged in, at the page Live.
func newTab(t *testing.T, s *stand) *tab {
	t.Helper()
	return newTabAt(t, s, 1440, 900)
}

func newTabAt(t *testing.T, s *stand, width, height int64) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(openedBrowser(t), chromedp.WithNewBrowserContext())
	b := &tab{t: t, s: s, ctx: ctx}
	t.Cleanup(func() {
		b.check()
		cancel()
	})
	b.run(chromedp.EmulateViewport(width, height))
	b.watch()
	b.run(chromedp.Navigate(s.web.URL + s.server.Link()))
	b.wait("a connection", `document.querySelector('#connection.up') !== null`)
	if eval[string](b, `location.pathname`) != "/" { // where something waits for an answer
		b.open("/")
	}
	return b
}

// watch notes what the page does that it must not.
func (b *tab) watch() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	_, err2 := chromedp.Call(b.ctx, cdplog.Enable, cdp.Empty{})
	if err := errors.Join(err, err2); err != nil {
		b.t.Fatal(err)
	}
	on(b, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) string {
		data, _ := json.Marshal(e.ExceptionDetails)
		return "exception: " + string(data)
	})
	on(b, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) string {
		if e.Type != "error" && e.Type != "warning" {
			return ""
		}
		data, _ := json.Marshal(e.Args)
		return "console: " + string(data)
	})
	on(b, cdplog.EntryAdded, func(e cdplog.EventEntryAdded) string {
		if e.Entry.Level != "error" || b.quit {
			return ""
		}
		return "log: " + e.Entry.Text + " " + e.Entry.URL
	})
	origin := b.s.web.URL // that of a console that starts again is the same
	on(b, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) string {
		url := e.Request.URL
		if strings.HasPrefix(url, origin+"/") || strings.HasPrefix(url, "blob:"+origin) || strings.HasPrefix(url, "data:") {
			return ""
		}
		return "a request to " + url
	})
	on(b, network.LoadingFinished, func(e network.EventLoadingFinished) string {
		b.got += int64(e.EncodedDataLength)
		return ""
	})
	on(b, cdppage.JavascriptDialogOpening, func(e cdppage.EventJavascriptDialogOpening) string { return "a dialog: " + e.Message })
}

// on takes the events of a kind; what is returned of one is a fault.
func on[E any](b *tab, kind cdp.Event[E], take func(E) string) {
	events := chromedp.Events(b.ctx, kind)
	go func() {
		for e, err := range events {
			if err != nil {
				return
			}
			b.mu.Lock()
			if fault := take(e); fault != "" {
				b.bad = append(b.bad, fault)
			}
			b.mu.Unlock()
		}
	}()
}

// check fails the test where the page did what it must not.
func (b *tab) check() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.bad {
		b.t.Errorf("the page: %s", what)
	}
	b.bad = nil
}

// breaking says that the server goes away: what the browser logs of that is no fault of the page.
func (b *tab) breaking() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.quit = true
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to a page, and waits until it is connected.
func (b *tab) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(b.s.web.URL+path))
	b.wait("a connection", `document.querySelector('#connection.up') !== null`)
}

// eval returns what an expression comes to.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return value
}

// eval evaluates an expression into a value, nil where that is not wanted.
func (b *tab) eval(js string, into any) {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]byte](js))
	if err == nil && into != nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
}

// wait waits until an expression is true.
func (b *tab) wait(what, js string) {
	b.t.Helper()
	eventually(b.t, what+" on the page ("+js+")", func() bool {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+js+")"))
		return err == nil && ok // while a page is exchanged for another, there is none
	})
}

// text waits until an element has the text.
func (b *tab) text(selector, want string) {
	b.t.Helper()
	b.wait(want, `[...document.querySelectorAll(`+quote(selector)+`)].some(e => e.textContent.includes(`+quote(want)+`))`)
}

// click clicks an element when it is there and can be.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.wait(selector, `(e => e && !e.disabled && e.getClientRects().length)(document.querySelector(`+quote(selector)+`))`)
	eval[bool](b, `(document.querySelector(`+quote(selector)+`).scrollIntoView({block: 'center'}), true)`)
	b.run(chromedp.Click(chromedp.CSS(selector)))
}

// fill replaces the text of a field, as somebody who types.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.wait(selector, `document.querySelector(`+quote(selector)+`)`)
	eval[bool](b, `(e => { e.focus(); e.value = `+quote(text)+`; e.dispatchEvent(new Event('input', {bubbles: true})); return true })(document.querySelector(`+quote(selector)+`))`)
}

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}
