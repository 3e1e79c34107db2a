#!/bin/sh
# Starts the host of a module. The protocol has descriptors of its own, so that nothing that a module or a program of it
# prints or reads gets into it: 3 is where messages go, 4 where they come from.
set -eu
here=${0%/*}
case $TONGS_LANGUAGE in
javascript) set -- node --disable-proto=throw "$here/host.mjs" ;;
python) set -- python3 -I -B -X utf8 "$here/host.py" ;;
go) set -- "$here/program" ;;
esac
if ! command -v "$1" >/dev/null 2>&1; then
	echo "$1 is not found in the sandbox; install it where all users find it, such as /usr/bin" >&2
	exit 127
fi
exec "$@" 3>&1 4<&0 1>&2 </dev/null
