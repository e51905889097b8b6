#!/usr/bin/env bash
# `make test`: the race tests of every package (or of those named) on real engines, which
# scripts/services.sh starts when they do not run and stops again. The last lines say which engines
# were really reached. Exit code: that of go test, or 1 when a required engine was not reached.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

engines=$(mktemp) program=$(mktemp)
trap 'rm -f "$engines" "$program"' EXIT
export ROWRELAY_TEST_ENGINES_FILE=$engines

# A cached result reaches no engine. Tests that use one read ROWRELAY_TEST_ENGINES_FILE, whose new
# value makes go test run them again; only tests that need no engine come from the cache.
packages=("$@")
((${#packages[@]} > 0)) || packages=(./...)
# The program as it is shipped, which the tests of several packages build: once here, not by all of them at the same time.
# What calls methods by their names (a template does) would have the linker keep all of them, a seventh of the program.
kept=$(. scripts/shipped.sh && go build -ldflags '-s -w -dumpdep' -o "$program" ./cmd/rowrelay 2>&1) || {
    grep -v -e ' -> ' <<<"$kept"
    exit 1
}
if grep -o '^[^ ]* <ReflectMethod>' <<<"$kept" | sort -u | grep .; then
    echo "The functions above call methods by their names: the program has every exported method, and is a seventh larger."
    exit 1
fi
if [[ $(go env GOOS GOARCH | paste -sd/) == linux/amd64 ]] && (($(stat -c %s "$program") > 40000000)); then
    echo "The program has $(stat -c %s "$program") bytes. It is to stay below 40 MB: see what makes it grow (scripts/shipped.sh)."
    exit 1
fi

# The race detector waits for a second at the end of each program, of which there are ninety.
export GORACE="atexit_sleep_ms=100 ${GORACE:-}"

# SQLite is C translated to Go. Instrumented it takes five times as long, and what the race detector would watch is the
# memory of a C program; it stays out, as a C library would. The driver's callers are instrumented like everything else.
#
# Most of a test's time is waiting, for an engine or a lease: one package more than there are processors, and in each four
# tests at a time.
scripts/services.sh run -- go test -race -gcflags='modernc.org/...=-race=false' -timeout 40m \
    -p $(($(nproc) + 1)) -parallel 4 "${packages[@]}"
rc=$?

echo
echo "Real engines that ran:"
[[ -s $engines ]] || echo "  none"
sort -u "$engines" | sed 's/^/  /'
grep -q '^SQL Server' "$engines" || echo "  SQL Server: NOT RUN (no test asked for it)"

if (($# == 0)); then
    for engine in PostgreSQL MariaDB SQLite Azurite RabbitMQ "Apache Kafka" "Qpid Proton" Chromium; do
        grep -q "^$engine " "$engines" && continue
        echo "$engine did not run: these tests do not count."
        ((rc != 0)) || rc=1
    done
fi
((rc == 0)) && echo "Tests passed." || echo "Tests FAILED (exit code $rc)."
exit "$rc"
