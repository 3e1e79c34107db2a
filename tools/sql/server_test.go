package sql

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network/egress"
)

// server is a PostgreSQL server of a test.
type server struct {
	t        testing.TB
	bin, dir string
	port     uint16
	cmd      *exec.Cmd
	log      *bytes.Buffer
}

const secretPassword = "hunter2-very-secret"

// startServer starts a real server on loopback, with the users owner and reader of the database app.
func startServer(t testing.TB) *server {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the server is started on Linux")
	}
	s := &server{t: t, dir: t.TempDir(), log: &bytes.Buffer{}}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Fatal("the tests need PostgreSQL: apt-get install postgresql")
	}
	s.bin = filepath.Dir(found[len(found)-1])
	if real, err := filepath.EvalSymlinks(found[len(found)-1]); err == nil {
		s.bin = filepath.Dir(real)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = uint16(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	for dir := s.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755)
	}
	if cred := credential(t); cred != nil {
		if err := os.Chown(s.dir, int(cred.Uid), int(cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(secretPassword), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := s.command("initdb", "-D", s.data(), "-U", "owner", "-A", "scram-sha-256", "--pwfile="+password, "-N", "--no-locale", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, said)
	}
	s.start()
	for _, sql := range []string{
		"CREATE DATABASE app",
	} {
		s.psql("postgres", sql)
	}
	s.psql("app", `CREATE TABLE t(id int PRIMARY KEY, name text, price numeric, made timestamptz, tags jsonb, ok bool, raw bytea);
		INSERT INTO t VALUES (1,'fork',2.50,'2026-01-02 03:04:05Z','{"a":[1]}',true,'\x00ff'),(2,NULL,NULL,NULL,NULL,false,NULL);
		CREATE ROLE reader LOGIN PASSWORD '`+secretPassword+`'; GRANT SELECT ON t TO reader; CREATE SEQUENCE s;`)
	return s
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// credential is another user where this is root, which PostgreSQL does not run as.
func credential(t testing.TB) *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "LC_ALL=C", "PGPASSWORD=" + secretPassword}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential(s.t)}
	return cmd
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(int(s.port)), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+s.dir, "-c", "fsync=off")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.stop)
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if s.command("pg_isready", "-h", "127.0.0.1", "-p", strconv.Itoa(int(s.port))).Run() == nil {
			return
		}
		if time.Now().After(deadline) {
			s.stop()
			s.t.Fatalf("the server does not come up: %s", s.log)
		}
	}
}

// stop ends the server at once, as a crash would for its clients.
func (s *server) stop() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		_ = s.cmd.Wait()
	}
}

// psql runs statements by other means than the tool, and returns what they say.
func (s *server) psql(database, sql string) string {
	s.t.Helper()
	said, err := s.command("psql", "-h", "127.0.0.1", "-p", strconv.Itoa(int(s.port)), "-U", "owner", "-d", database, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql).CombinedOutput()
	if err != nil {
		s.t.Fatalf("psql: %v: %s", err, said)
	}
	return string(bytes.TrimSpace(said))
}

// connection is one to the server.
func (s *server) connection(name, role string) Connection {
	return Connection{
		Name: name, Host: "127.0.0.1", Port: s.port, Database: "app", User: role, TLS: Disable, Read: tongs.Ask, Write: tongs.Ask,
		Password: func(context.Context) (string, error) { return secretPassword, nil },
	}
}

// setup is that of a bench with the connections.
func (s *server) setup(list ...Connection) setup {
	host := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.port)))
	return setup{
		Options: Options{Connections: list},
		egress:  egress.Options{Configured: func(tool, name string) bool { return tool == Name && name == host }},
	}
}
