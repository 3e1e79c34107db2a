// Package mirror serves package registries: npm's, Python's, Go's and Rust's, in their real protocols, with packages that are made when
// they are asked for. It is what is outside of the machine for tests.
package mirror

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Version is that of every package.
const Version = "1.0.0"

// Missing is in the names of packages that do not exist. Those of npm that begin with Scripted run a script when they are installed,
// which writes the file "ran" into the package.
const (
	Missing  = "missing"
	Scripted = "scripted"
)

// Script is the install script of such a package.
const Script = "node -e \"require('fs').writeFileSync('ran', 'yes')\""

// Mirror is one server. Its address is URL.
type Mirror struct {
	URL    string
	server *httptest.Server

	mu       sync.Mutex
	requests []string
}

// Start serves all registries at a host of this machine: npm below /npm/, Python below /pypi/simple/, Go below /go/,
// Rust below /cargo/index/. The caller closes it.
func Start(host string) (*Mirror, error) {
	m := &Mirror{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /npm/{name}", m.packument)
	mux.HandleFunc("GET /npm/{name}/-/{file}", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(tarball(r.PathValue("name"))) })
	mux.HandleFunc("GET /pypi/simple/{name}/", m.simple)
	mux.HandleFunc("GET /pypi/files/{name}/{file}", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(wheel(r.PathValue("name"))) })
	mux.HandleFunc("GET /go/", module)
	mux.HandleFunc("GET /cargo/index/config.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"dl": %q}`, m.URL+"/cargo/crates")
	})
	mux.HandleFunc("GET /cargo/index/", index)
	mux.HandleFunc("GET /cargo/crates/{name}/{version}/download", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(crate(r.PathValue("name"))) })
	m.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.requests = append(m.requests, r.Method+" "+r.URL.Path)
		m.mu.Unlock()
		if strings.Contains(r.URL.Path, Missing) {
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	_ = m.server.Listener.Close()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	m.server.Listener = l
	m.server.Start()
	m.URL = fmt.Sprintf("http://%s", net.JoinHostPort(host, fmt.Sprint(l.Addr().(*net.TCPAddr).Port)))
	return m, nil
}

// Close ends the server.
func (m *Mirror) Close() { m.server.Close() }

// Host is host:port.
func (m *Mirror) Host() string { return strings.TrimPrefix(m.URL, "http://") }

// Requests are those so far, as method and path.
func (m *Mirror) Requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

func (m *Mirror) packument(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	sum := sha512.Sum512(tarball(name))
	scripts := map[string]string{}
	if strings.HasPrefix(name, Scripted) {
		scripts["postinstall"] = Script
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"name": name, "dist-tags": map[string]string{"latest": Version},
		"versions": map[string]any{Version: map[string]any{
			"name": name, "version": Version, "scripts": scripts, "hasInstallScript": len(scripts) > 0,
			"dist": map[string]string{
				"tarball":   fmt.Sprintf("%s/npm/%s/-/%s-%s.tgz", m.URL, name, name, Version),
				"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
			},
		}},
	})
}

// tarball is a package of npm: a function that returns its name.
func tarball(name string) []byte {
	scripts := "{}"
	if strings.HasPrefix(name, Scripted) {
		scripts = fmt.Sprintf(`{"postinstall": %q}`, Script)
	}
	return tarred([][2]string{
		{"package/package.json", fmt.Sprintf(`{"name": %q, "version": %q, "main": "index.js", "scripts": %s}`, name, Version, scripts)},
		{"package/index.js", fmt.Sprintf("module.exports = () => %q;\n", name)},
	})
}

// index answers cargo's sparse protocol for any crate.
func index(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	fmt.Fprintf(w, `{"name": %q, "vers": %q, "deps": [], "features": {}, "yanked": false, "cksum": "%x"}`+"\n", name, Version, sha256.Sum256(crate(name)))
}

// crate is a package of Rust: a function that returns its name.
func crate(name string) []byte {
	dir := name + "-" + Version + "/"
	return tarred([][2]string{
		{dir + "Cargo.toml", fmt.Sprintf("[package]\nname = %q\nversion = %q\nedition = \"2021\"\n", name, Version)},
		{dir + "src/lib.rs", fmt.Sprintf("pub fn name() -> &'static str {\n    %q\n}\n", name)},
	})
}

func tarred(files [][2]string) []byte {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, f := range files {
		_ = tw.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1]))})
		_, _ = tw.Write([]byte(f[1]))
	}
	_ = tw.Close()
	_ = gz.Close()
	return b.Bytes()
}

func (m *Mirror) simple(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	file := fmt.Sprintf("%s-%s-py3-none-any.whl", name, Version)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<!DOCTYPE html><html><body><a href='/pypi/files/%s/%s#sha256=%x'>%s</a></body></html>", name, file, sha256.Sum256(wheel(name)), file)
}

// wheel is a package of Python: a module with a function that returns its name.
func wheel(name string) []byte {
	info := fmt.Sprintf("%s-%s.dist-info/", name, Version)
	files := [][2]string{
		{name + ".py", fmt.Sprintf("def name():\n    return %q\n", name)},
		{info + "METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, Version)},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: mirror\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	}
	record := ""
	for _, f := range files {
		sum := sha256.Sum256([]byte(f[1]))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f[0], base64.RawURLEncoding.EncodeToString(sum[:]), len(f[1]))
	}
	return zipped(append(files, [2]string{info + "RECORD", record + info + "RECORD,,\n"}))
}

// module answers the protocol of Go's module proxies for any module path: a package whose function Name returns the path.
func module(w http.ResponseWriter, r *http.Request) {
	const version = "v" + Version
	path, what, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/go/"), "/@")
	mod := fmt.Sprintf("module %s\n\ngo 1.21\n", path)
	stamp := fmt.Sprintf(`{"Version": %q, "Time": "2020-01-01T00:00:00Z"}`, version)
	switch {
	case !ok || strings.Count(path, "/") != 1: // only what is named in full is a module
		http.NotFound(w, r)
	case what == "latest" || what == "v/"+version+".info":
		fmt.Fprint(w, stamp)
	case what == "v/list":
		fmt.Fprintln(w, version)
	case what == "v/"+version+".mod":
		fmt.Fprint(w, mod)
	case what == "v/"+version+".zip":
		name := path[strings.LastIndexByte(path, '/')+1:]
		_, _ = w.Write(zipped([][2]string{
			{path + "@" + version + "/go.mod", mod},
			{path + "@" + version + "/" + name + ".go", fmt.Sprintf("package %s\n\n// Name returns the module's path.\nfunc Name() string { return %q }\n", name, path)},
		}))
	default:
		http.NotFound(w, r)
	}
}

func zipped(files [][2]string) []byte {
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, f := range files {
		if w, err := zw.Create(f[0]); err == nil {
			_, _ = w.Write([]byte(f[1]))
		}
	}
	_ = zw.Close()
	return b.Bytes()
}
