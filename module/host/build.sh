#!/bin/sh
# Builds the program of a Go module, offline, and writes it to the standard output.
set -eu
here=${0%/*}
if ! command -v go >/dev/null 2>&1; then
	echo "go is not found in the sandbox; install it where all users find it, such as /usr/local/go" >&2
	exit 127
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$here/src/." "$work"
cp -R "$here/gen/." "$work"
chmod -R u+w "$work"
export GOPROXY=off GOTOOLCHAIN=local GOWORK=off GOENV=off CGO_ENABLED=0 GOTELEMETRY=off GOFLAGS=-mod=mod
if [ ! -f "$work/go.mod" ]; then
	version=$(go env GOVERSION)
	version=${version#go}
	minor=${version#*.}
	printf 'module %s\n\ngo %s.%s\n' "$TONGS_GO_MODULE" "${version%%.*}" "${minor%%[!0-9]*}" >"$work/go.mod"
elif [ -d "$work/vendor" ]; then
	export GOFLAGS=-mod=vendor
fi
cd "$work/$TONGS_GO_PACKAGE"
go build -trimpath -o "$work/.program" . >&2
cat "$work/.program"
