package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/tongs-ai/tongs"
)

// raw is a server that answers each connection with its own bytes. Behave writes; the connection is closed when it returns.
func raw(t *testing.T, b *bench, name string, behave func(c net.Conn, done <-chan struct{})) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { close(done); ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = http.ReadRequest(bufio.NewReader(c))
				behave(c, done)
			}()
		}
	}()
	b.point(name, ln.Addr().String())
}

func pack(t testing.TB, encoding string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	chunk := make([]byte, 64<<10)
	for i := range chunk {
		chunk[i] = "text of a page "[i%15]
	}
	for size > 0 {
		n, err := w.Write(chunk[:min(size, len(chunk))])
		if err != nil {
			t.Fatal(err)
		}
		size -= n
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Each of these ends, with a code, and nothing of it is taken for a whole answer.
func TestHostileServers(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	hang := func(c net.Conn, done <-chan struct{}) { <-done }
	endless := func(say string) func(net.Conn, <-chan struct{}) {
		return func(c net.Conn, _ <-chan struct{}) {
			_, _ = io.WriteString(c, say)
			for rest := strings.Repeat("x", 32<<10); ; {
				if _, err := io.WriteString(c, rest); err != nil {
					return
				}
			}
		}
	}
	// drip says a byte at a time, always one more before anybody's patience with a silent server ends.
	drip := func(c net.Conn, done <-chan struct{}) {
		_, _ = io.WriteString(c, head+"Content-Length: 100000\r\n\r\n")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		}
	}
	say := func(parts ...string) func(net.Conn, <-chan struct{}) {
		return func(c net.Conn, _ <-chan struct{}) {
			for _, p := range parts {
				_, _ = io.WriteString(c, p)
			}
		}
	}
	packed := func(encoding string, body []byte) func(net.Conn, <-chan struct{}) {
		return say(head, fmt.Sprintf("Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n", encoding, len(body)), string(body))
	}
	cut := func(body []byte) []byte { return body[:len(body)*2/3] }
	for name, c := range map[string]struct {
		behave func(net.Conn, <-chan struct{})
		code   tongs.Code
	}{
		"silent":            {hang, tongs.CodeTimeout},
		"headers never end": {func(c net.Conn, done <-chan struct{}) { _, _ = io.WriteString(c, head); <-done }, tongs.CodeTimeout},
		"body never comes": {func(c net.Conn, done <-chan struct{}) {
			_, _ = io.WriteString(c, head+"Content-Length: 100\r\n\r\nstart")
			<-done
		}, tongs.CodeTimeout},
		"slow body":           {drip, tongs.CodeTimeout},
		"endless body":        {endless(head + "\r\n"), tongs.CodeTooLarge},
		"endless chunk":       {endless(head + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n"), tongs.CodeTooLarge},
		"length too large":    {say(head, "Content-Length: 99999999999\r\n\r\n", "x"), tongs.CodeTooLarge},
		"length too small":    {say(head, "Content-Length: 3\r\n\r\n", "xyz and more that does not count"), ""},
		"length wrong":        {say(head, "Content-Length: 100\r\n\r\n", "short"), tongs.CodeNetworkError},
		"two lengths":         {say(head, "Content-Length: 3\r\nContent-Length: 5\r\n\r\n", "abcde"), tongs.CodeNetworkError},
		"negative length":     {say(head, "Content-Length: -3\r\n\r\n", "abcde"), tongs.CodeNetworkError},
		"chunks cut off":      {say(head, "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n5\r\nab"), tongs.CodeNetworkError},
		"bad chunk":           {say(head, "Transfer-Encoding: chunked\r\n\r\nzz\r\nabcde\r\n"), tongs.CodeNetworkError},
		"not HTTP":            {say("SSH-2.0-OpenSSH_9.9\r\n"), tongs.CodeNetworkError},
		"closed at once":      {say(""), tongs.CodeNetworkError},
		"half a status":       {say("HTTP/1.1 20"), tongs.CodeNetworkError},
		"100 MB of headers":   {func(c net.Conn, _ <-chan struct{}) { manyHeaders(c) }, tongs.CodeTooLarge},
		"reset in the middle": {reset(head + "Content-Length: 100000\r\n\r\nstart"), tongs.CodeNetworkError},
		"gzip cut off":        {packed("gzip", cut(pack(t, "gzip", 1<<20))), tongs.CodeNetworkError},
		"brotli cut off":      {packed("br", cut(pack(t, "br", 1<<20))), tongs.CodeNetworkError},
		"zstd cut off":        {packed("zstd", cut(pack(t, "zstd", 1<<20))), tongs.CodeNetworkError},
		"gzip bomb":           {packed("gzip", pack(t, "gzip", 16<<20)), tongs.CodeTooLarge},
		"brotli bomb":         {packed("br", pack(t, "br", 16<<20)), tongs.CodeTooLarge},
		"zstd bomb":           {packed("zstd", pack(t, "zstd", 16<<20)), tongs.CodeTooLarge},
		"packed thrice":       {packed("gzip, gzip, gzip", []byte("x")), tongs.CodeNetworkError},
		"unknown packing":     {packed("compress", []byte("x")), tongs.CodeNetworkError},
		"not what it says":    {packed("gzip", []byte("plain")), tongs.CodeNetworkError},
		"gzip":                {packed("gzip", pack(t, "gzip", 1<<20)), ""},
		"brotli":              {packed("br", pack(t, "br", 1<<20)), ""},
		"zstd":                {packed("zstd", pack(t, "zstd", 1<<20)), ""},
		"empty, but packed":   {packed("gzip", nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, setup{Options: Options{IgnoreRobots: true}, rules: allow("site.test")})
			raw(t, b, "site.test", c.behave)
			in := args{"url": "http://site.test/", "timeout": 120}
			if c.code == tongs.CodeTimeout {
				in["timeout"] = 1
			}
			if c.code == "" {
				b.fetch(in)
				return
			}
			b.fails(c.code, in)
		})
	}
}

func manyHeaders(c net.Conn) {
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
	line := strings.Repeat("X-Filler: "+strings.Repeat("y", 1000)+"\r\n", 100)
	for range 1000 {
		if _, err := io.WriteString(c, line); err != nil {
			return
		}
	}
	_, _ = io.WriteString(c, "\r\n")
}

// reset ends a connection without the usual farewell.
func reset(say string) func(net.Conn, <-chan struct{}) {
	return func(c net.Conn, _ <-chan struct{}) {
		_, _ = io.WriteString(c, say)
		_ = c.(*net.TCPConn).SetLinger(0)
	}
}

func TestEndlessRedirects(t *testing.T) {
	b := newBench(t, setup{Options: Options{IgnoreRobots: true}, rules: allow("site.test")})
	var n atomic.Int32
	b.serve("site.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, fmt.Sprintf("/%d?token=s3cr3tvalue", n.Add(1)), http.StatusFound)
	}))
	res := b.fails(tongs.CodeNetworkError, args{"url": "http://site.test/"})
	contains(t, "the refusal", res.Content, "more than 10 times")
	if n.Load() != 11 || strings.Contains(res.Content, "s3cr3t") {
		t.Errorf("%d requests; %s", n.Load(), res.Content)
	}
}

func TestBadCertificates(t *testing.T) {
	b := newBench(t, setup{Options: Options{IgnoreRobots: true}, rules: allow("secure.test", "old.test")})
	server := httptest.NewUnstartedServer(saying("text/plain", "x"))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	b.point("secure.test", server.Listener.Addr().String())
	res := b.fails(tongs.CodeNetworkError, args{"url": "https://secure.test/"})
	contains(t, "the refusal", res.Content, "certificate")
	old := httptest.NewUnstartedServer(saying("text/plain", "x"))
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	defer old.Close()
	b.point("old.test", old.Listener.Addr().String())
	b.fails(tongs.CodeNetworkError, args{"url": "https://old.test/"})
}

// Pages that are made to keep a reader busy are converted, or given up on, like others.
func TestPagesThatKeepOneBusy(t *testing.T) {
	rep := strings.Repeat
	for name, page := range map[string]string{
		"navigation": rep("<nav>x</nav>", 2000), "deep": rep("<div>", 480) + rep("<p>x</p>", 500), "too deep": rep("<div>", 2000),
		"tables in tables": rep("<table><tr><td>", 150) + rep("<table><tr><td>x</table>", 200), "formatting": rep("<p><b><i><u>x", 100),
		"attributes": "<p " + rep("a=b ", 5000) + ">x", "styles": "<style>" + rep(".a .b{display:none}", 300) + "</style>" + rep("<div class=a><p class=b>x</p></div>", 300),
		"spans": rep("<table><tr><td colspan=1000 rowspan=1000>x</table>", 100), "rows": "<table>" + rep("<tr><td rowspan=200>x", 300) + "</table>",
		"lists": rep("<ul><li>x", 200) + rep("<li>y", 500), "quotes": rep("<blockquote>", 400) + rep("x<br>", 300), "marks": rep("*_[]`", 2000),
		"comments": rep("<!--", 3000), "escapes": "<p style='" + rep(`\64 ;`, 3000) + "'>x", "line ends": "<pre>" + rep("\n", 20_000),
		"selects": rep("<select><option>", 800), "pictures": rep("<svg><p><math><mi>", 400), "headings": rep("<h1>a<p>b", 400), "cards": rep("<a href=/x><div><p>x</p></div></a>", 400),
	} {
		a := answerOf(t, []byte("<html><body>"+page), "text/html")
		_, err := convertBounded(t.Context(), Input{Format: "markdown"}, a, &Output{})
		if code := tongs.CodeOf(err); code != "" && code != tongs.CodeExecutionError && code != tongs.CodeTimeout {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseSelector("a:has(b:has(c:has(d)))"); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("%v", err)
	}
}

// prevOf is where the table of a file begins, as the file says.
func prevOf(data []byte) string {
	_, rest, _ := bytes.Cut(data, []byte("startxref\n"))
	at, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(at)
}

// A file in which more is packed than fits is not unpacked, and one that its reader chokes on is kept instead of read.
func TestHostileFiles(t *testing.T) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	chunk := make([]byte, 1<<20)
	for range 80 {
		_, _ = z.Write(chunk)
	}
	_ = z.Close()
	var twice bytes.Buffer
	z = zlib.NewWriter(&twice)
	_, _ = z.Write(packed.Bytes())
	_ = z.Close()
	for name, body := range map[string][]byte{
		"bomb":       append([]byte("%PDF-1.4\n1 0 obj << /Filter /FlateDecode >> stream\n"), packed.Bytes()...),
		"bomb twice": append([]byte("%PDF-1.4\n1 0 obj << /Filter [/FlateDecode /FlateDecode] >> stream\r\n"), twice.Bytes()...),
		"cut off":    pdfOf("x")[:200],
		"loop":       bytes.ReplaceAll(pdfOf("x"), []byte("/Kids [4 0 R]"), []byte("/Kids [2 0 R]")),
		"parents":    bytes.ReplaceAll(bytes.ReplaceAll(pdfOf("x"), []byte("/Parent 2 0 R"), []byte("/Parent 4 0 R")), []byte("/Resources"), []byte("/Xesources")),
		"earlier":    bytes.ReplaceAll(pdfOf("x"), []byte("/Root 1 0 R"), []byte("/Root 1 0 R /Prev "+prevOf(pdfOf("x")))),
		"no pages":   bytes.ReplaceAll(pdfOf("x"), []byte("/Count 1"), []byte("/Count 9999999")),
		"garbage":    append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("obj << [ ( "), 1000)...),
	} {
		s := &set{opt: Options{}.withDefaults()}
		out, err := s.show(t.Context(), Input{Format: "markdown"}, answerOf(t, body, "application/pdf"))
		if err != nil || len(out.remarks) == 0 {
			t.Errorf("%s: %+v %v", name, out, err)
		}
	}
}
