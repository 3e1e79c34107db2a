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
export GOPROXY=off GOTOOLCHAIN=local GOWORK=off GOENV=off CGO_ENABLED=0 GOTELEMETRY=off GOFLAGS="-mod=mod -buildvcs=false"
if [ -d "$work/vendor" ]; then
	export GOFLAGS="-mod=vendor -buildvcs=false"
else # it imports nothing of other modules, so that it needs none, wherever its go.mod says that they are
	if [ -f "$work/go.mod" ]; then
		version=$(sed -n 's/^go[[:space:]]\{1,\}\([0-9.]*\).*/\1/p' "$work/go.mod")
	else
		version=$(go env GOVERSION)
		version=${version#go}
		minor=${version#*.}
		version=${version%%.*}.${minor%%[!0-9]*}
	fi
	printf 'module %s\n\n%s\n' "$TONGS_GO_MODULE" "${version:+go $version}" >"$work/go.mod"
fi
cd "$work/$TONGS_GO_PACKAGE"
go build -trimpath -o "$work/.program" . >&2
cat "$work/.program"
