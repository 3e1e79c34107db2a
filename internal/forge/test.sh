#!/bin/sh
# Tests a custom tool. It runs in the sandbox, in an empty directory, and nothing that it leaves counts.
# FORGE_SRC: the files of the tool. FORGE_NAME: its name. FORGE_OUT: the name of its program. FORGE_LANG, FORGE_RUN: what runs it.
# Beside this script are program and test, which the build of a tool in Go made, and examples.sh.
here=${0%/*}
work=$(mktemp -d) || exit 90
cp -R "$FORGE_SRC"/. "$work" && chmod -R u+w "$work" && cd "$work" || exit 90
case $FORGE_LANG in
go)
	rm -f "$FORGE_OUT"
	cp "$here/program" "$FORGE_OUT" || exit 90
	if [ -f "$here/test" ]; then "$here/test" -test.paniconexit0 || exit 13; fi
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
. "$here/examples.sh"
exit 0
