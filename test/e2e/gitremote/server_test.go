package gitremote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	login    = "ada"
	password = "correct-horse-battery-staple"
)

// server is git's own HTTP server behind TLS and a password, with its repositories in a directory.
type server struct {
	*httptest.Server
	dir, ca string

	mu   sync.Mutex
	seen []string // requests that were let in, as METHOD PATH
}

// newServer starts one. Repositories whose name starts with "open" can be read by everybody.
func newServer(t *testing.T) *server {
	t.Helper()
	backend, err := exec.Command("git", "--exec-path").Output()
	must(t, err)
	s := &server{dir: realDir(t)}
	handler := &cgi.Handler{
		Path:       filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env:        []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + login},
		InheritEnv: []string{"PATH"},
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, pass, _ := r.BasicAuth()
		reads := !strings.Contains(r.URL.String(), "receive-pack")
		if !(reads && strings.HasPrefix(r.URL.Path, "/open")) && (name != login || pass != password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	// Not 127.0.0.1, which in a sandbox is the sandbox itself.
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	must(t, err)
	_ = s.Listener.Close()
	s.Listener = listener
	cert, ca := certificates(t)
	s.ca = filepath.Join(realDir(t), "ca.pem")
	must(t, os.WriteFile(s.ca, ca, 0o644))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// host is the server as effects name it.
func (s *server) host() string {
	return strings.TrimPrefix(s.URL, "https://")
}

// url is the address of a repository.
func (s *server) url(name string) string { return "https://" + s.host() + "/" + name }

// repository makes a bare repository with one commit on main.
func (s *server) repository(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(s.dir, name)
	git(t, s.dir, "init", "-q", "--bare", "-b", "main", dir)
	git(t, dir, "config", "http.receivepack", "true")
	work := realDir(t)
	git(t, work, "init", "-q", "-b", "main", ".")
	must(t, os.WriteFile(filepath.Join(work, "README"), []byte("hello from "+name+"\n"), 0o644))
	git(t, work, "add", ".")
	git(t, work, "commit", "-q", "-m", "first")
	git(t, work, "push", "-q", dir, "main")
	return dir
}

// certificates makes an authority, and a certificate of it for the server.
func certificates(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 2)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// git runs git outside, as the person would.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}
