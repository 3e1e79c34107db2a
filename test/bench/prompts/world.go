package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// worldHost is the address of the world. To programs in the sandbox 127.0.0.1 is the sandbox itself.
const worldHost = "127.0.0.2"

// world is what is outside of the machine for a session: a git server and a registry of packages, on loopback.
type world struct {
	dir     string
	server  *httptest.Server
	mu      sync.Mutex
	uploads map[string][]byte
}

// newWorld starts the servers. Repositories are kept below dir.
func newWorld(dir string) (*world, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, uploads: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.Handle("/git/", &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bench"},
	})
	mux.HandleFunc("GET /npm/{name}", w.npmPackage)
	mux.HandleFunc("GET /npm/{name}/-/{file}", func(rw http.ResponseWriter, r *http.Request) { _, _ = rw.Write(npmTarball(r.PathValue("name"))) })
	mux.HandleFunc("GET /pypi/simple/{name}/", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<a href='/pypi/%s-1.0-py3-none-any.whl'>it</a>", r.PathValue("name"))
	})
	mux.HandleFunc("GET /pypi/{file}", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(wheel()) })
	mux.HandleFunc("/upload/{file}", w.upload)
	w.server = httptest.NewUnstartedServer(mux)
	_ = w.server.Listener.Close()
	if w.server.Listener, err = net.Listen("tcp", worldHost+":0"); err != nil {
		return nil, err
	}
	w.server.Start()
	return w, nil
}

func (w *world) upload(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Method == http.MethodGet {
		_, _ = rw.Write(w.uploads[r.PathValue("file")])
		return
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w.uploads[r.PathValue("file")] = data
}

func (w *world) npmPackage(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	sum := sha512.Sum512(npmTarball(name))
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"name": name, "dist-tags": map[string]string{"latest": "1.0.0"},
		"versions": map[string]any{"1.0.0": map[string]any{
			"name": name, "version": "1.0.0",
			"dist": map[string]string{
				"tarball":   fmt.Sprintf("%s/npm/%s/-/%s-1.0.0.tgz", w.server.URL, name, name),
				"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
			},
		}},
	})
}

func npmTarball(name string) []byte {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, f := range [][2]string{
		{"package/package.json", fmt.Sprintf(`{"name": %q, "version": "1.0.0", "main": "index.js"}`, name)},
		{"package/index.js", "module.exports = (s, n) => s.padEnd(n);\n"},
	} {
		_ = tw.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1]))})
		_, _ = tw.Write([]byte(f[1]))
	}
	_ = tw.Close()
	_ = gz.Close()
	return b.Bytes()
}

// fixture makes the workspace of a session: its files in a repository with one commit and a remote.
func (w *world) fixture(s *Session, ws string, esbuild func() (string, error)) error {
	for name, text := range s.Files {
		file := filepath.Join(ws, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "{{registry}}", w.server.URL)), mode); err != nil {
			return err
		}
	}
	remote := filepath.Join(w.dir, s.Name+".git")
	for _, args := range [][]string{
		{"init", "-q", "--bare", "-b", "main", remote},
		{"-C", remote, "config", "http.receivepack", "true"},
		{"-C", ws, "init", "-q", "-b", "main"},
		{"-C", ws, "config", "user.name", "A Person"},
		{"-C", ws, "config", "user.email", "person@example.org"},
		{"-C", ws, "remote", "add", "origin", w.server.URL + "/git/" + s.Name + ".git"},
		{"-C", ws, "add", "-A"},
		{"-C", ws, "commit", "-q", "-m", "Begin"},
		{"-C", ws, "push", "-q", remote, "main"},
	} {
		git := exec.Command("git", args...)
		git.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, need := range s.Setup {
		if need != "esbuild" {
			return fmt.Errorf("%s: nobody knows how to set up %q", s.Name, need)
		}
		program, err := esbuild()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		dir := filepath.Join(ws, "node_modules", ".bin")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "esbuild"), data, 0o755); err != nil {
			return err
		}
	}
	return nil
}
