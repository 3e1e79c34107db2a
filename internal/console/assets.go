package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed assets openapi.json
var embedded embed.FS

// assets are the files that pages are made of. Their address holds a hash of all of them, so that browsers keep them.
type assets struct {
	prefix    string
	served    map[string]asset
	templates map[string]*template.Template
}

type asset struct {
	kind        string
	plain, gzip []byte
}

// imported finds what a module imports.
var imported = regexp.MustCompile(`(?m)^import [^;]*'\./([\w-]+\.js)';`)

// modules are those that a page's module imports, and they in turn: a browser that is told of all of them does not wait for
// one to learn of the next.
func (a *assets) modules(name string) []string {
	var list []string
	for queue := []string{name + ".js"}; len(queue) > 0; queue = queue[1:] {
		for _, m := range imported.FindAllSubmatch(a.served["js/"+queue[0]].plain, -1) {
			if next := string(m[1]); !slices.Contains(list, next) {
				list, queue = append(list, next), append(queue, next)
			}
		}
	}
	return list
}

// kinds are the files that are served; the system's own list of types is not asked.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

func loadAssets() (*assets, error) {
	a := &assets{served: map[string]asset{}}
	hash := sha256.New()
	err := fs.WalkDir(embedded, "assets", func(name string, d fs.DirEntry, err error) error {
		kind := kinds[path.Ext(name)]
		if err != nil || d.IsDir() || kind == "" {
			return err
		}
		data, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		_, _ = hash.Write(data)
		var packed bytes.Buffer
		zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := zip.Write(data); err != nil {
			return err
		}
		if err := zip.Close(); err != nil {
			return err
		}
		a.served[strings.TrimPrefix(name, "assets/")] = asset{kind, data, packed.Bytes()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.prefix = "/assets/" + hex.EncodeToString(hash.Sum(nil))[:12]
	a.templates, err = parseTemplates(append(pages(), loginPage))
	return a, err
}

// ServeHTTP serves the files. There is nothing secret in them.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := a.served[strings.TrimPrefix(r.URL.Path, a.prefix+"/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := file.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = file.gzip
	}
	_, _ = w.Write(body)
}

// attachment is the header that makes a browser keep a file rather than show it.
func attachment(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": name})
}
