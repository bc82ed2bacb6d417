#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command that says nothing for minutes, and says every ten seconds that it goes on:
#   progress.sh "what is done" COMMAND [ARGUMENT…]
# What it prints is shown only if it fails.
set -uo pipefail
what=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "$what"
started=$SECONDS
"$@" >"$log" 2>&1 &
command=$!
trap 'kill "$command" 2>/dev/null' INT TERM
until [ ! -e "/proc/$command" ] || ! kill -0 "$command" 2>/dev/null; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 1
        kill -0 "$command" 2>/dev/null || break 2
    done
    echo "  … $((SECONDS - started)) s: $(tail -n 1 "$log" | cut -c 1-100)"
done
wait "$command"
status=$?
if [ $status -ne 0 ]; then
    tail -n 40 "$log" >&2
else
    echo "  done in $((SECONDS - started)) s"
fi
exit $status
