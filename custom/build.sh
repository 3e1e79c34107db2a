#!/bin/sh
# Builds and tests a custom tool. It runs in the sandbox, in an empty directory; what it leaves there is the result.
# FORGE_SRC: the files of the tool. FORGE_NAME: its name. FORGE_OUT: the name of its program. FORGE_LANG, FORGE_RUN: what builds it.
out=$PWD
work=$(mktemp -d) || exit 90
cp -R "$FORGE_SRC"/. "$work" && chmod -R u+w "$work" && cd "$work" || exit 90
case $FORGE_LANG in
go)
	rm -f "$FORGE_OUT"
	[ -f go.mod ] || "$FORGE_RUN" mod init forge.local/tool >/dev/null 2>&1 || exit 90
	"$FORGE_RUN" build -o "$out/$FORGE_OUT" . || exit 11
	"$FORGE_RUN" vet . || exit 12
	"$FORGE_RUN" test -count=1 -vet=off . || exit 13
	cp "$out/$FORGE_OUT" "$FORGE_OUT"
	;;
sh)
	"$FORGE_RUN" -n "$FORGE_NAME.sh" || exit 11
	if [ -f "${FORGE_NAME}_test.sh" ]; then "$FORGE_RUN" "${FORGE_NAME}_test.sh" || exit 13; fi
	;;
python)
	"$FORGE_RUN" -m py_compile "$FORGE_NAME.py" || exit 11
	if [ -f "${FORGE_NAME}_test.py" ]; then "$FORGE_RUN" "${FORGE_NAME}_test.py" || exit 13; fi
	;;
esac
if [ -f "$FORGE_EXAMPLES" ]; then . "$FORGE_EXAMPLES"; fi
exit 0
