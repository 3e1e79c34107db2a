#!/bin/sh
# Compiles a custom tool in Go, and its test, and runs neither. It runs in the sandbox, in an empty directory; what it leaves there is the result.
# FORGE_SRC: the files of the tool. FORGE_OUT: the name of its program, which is not among the sources. FORGE_RUN: the go command.
out=$PWD
work=$(mktemp -d) || exit 90
cp -R "$FORGE_SRC"/. "$work" && chmod -R u+w "$work" && cd "$work" || exit 90
rm -f "$FORGE_OUT"
[ -f go.mod ] || "$FORGE_RUN" mod init forge.local/tool >/dev/null 2>&1 || exit 90
[ -f vendor/modules.txt ] && export GOFLAGS="-mod=vendor -buildvcs=false"
"$FORGE_RUN" build -o "$out/program" . || exit 11
"$FORGE_RUN" vet . || exit 12
"$FORGE_RUN" test -c -vet=off -o "$out/test" . || exit 13
exit 0
