package environ

import (
	"strings"
	"testing"
)

func TestHarmless(t *testing.T) {
	for _, a := range []string{
		"LANG=C", "LANG=", "LC_ALL=en_US.UTF-8", "LANGUAGE=de:en", "TZ=UTC", "TZ=Europe/Berlin", "TZ=Etc/GMT+3", "TERM=xterm-256color", "COLUMNS=80",
		"NO_COLOR=1", "CI=true", "NODE_ENV=test", "GOOS=linux", "GOARM=7", "CGO_ENABLED=0", "GOMEMLIMIT=2GiB", "RUST_LOG=info,app::db=debug",
		"PYTHONIOENCODING=utf-8:replace", "GIT_AUTHOR_NAME=Ann Öst", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_AUTHOR_DATE=2026-01-02 03:04:05 +0100",
	} {
		if !Harmless(a) {
			t.Errorf("%q counts", a)
		}
	}
	for _, a := range []string{
		"TOOL=x", "CC=cc", "LANG", "LANG=/tmp/x", "LC_ALL=../x", "LANG=() { :; }", "LANG=C\nX", "TZ=:/etc/x", "TZ=/etc/x", "TZ=../x", "TZ=a/../x", "TERM=../x", "TERM=/x",
		"CI=$(id)", "NODE_ENV=../evil", "NODE_ENV=evil", "CGO_ENABLED=2", "GOOS=../x", "RUST_LOG=a b", "PYTHONIOENCODING=evil", "GIT_AUTHOR_NAME=$(id)",
		"GIT_AUTHOR_NAME=`id`", "GIT_AUTHOR_NAME=-x", "PATH=/bin", "lang=C", "LC_ALL =C", "=C", "", "NO_COLOR=rm", "GIT_AUTHOR_EMAIL=", "LANG=C\x00", "LANG=\x00$X",
		"CI=1\n", "CI=\n1", "LC_TOOL=evil", "LANG=" + strings.Repeat("a", 100),
	} {
		if Harmless(a) {
			t.Errorf("%q does not count", a)
		}
	}
	for _, h := range harmless {
		h.value() // a pattern that is none panics
		if h.reason == "" || strings.TrimSpace(h.names) == "" {
			t.Errorf("%q has no reason", h.names)
		}
	}
}
