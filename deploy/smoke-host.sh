#!/usr/bin/env bash
# The sample under the Functions host: `func start` with the built binary, Azurite and a receiver; the timer's function is started by hand,
# and a row must arrive. For .github/workflows/ci.yml, and any machine with Go, Python, Core Tools and Azurite. It ends what it starts.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in func azurite python3 curl; do
    command -v "$tool" >/dev/null || { echo "smoke: $tool is missing" >&2; exit 1; }
done
[[ -x rowrelay ]] || { echo "smoke: ./rowrelay is missing: make build" >&2; exit 1; }

dir=$(mktemp -d)
pids=()
finish() {
    local rc=$?
    kill "${pids[@]}" 2>/dev/null || true
    if ((rc != 0)); then tail -n 80 "$dir"/*.log >&2; fi
    rm -rf "$dir"
}
trap finish EXIT

# until_ready WHAT COMMAND…: two minutes at most.
until_ready() {
    local what=$1
    shift
    for _ in $(seq 240); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.5
    done
    echo "smoke: $what: not within two minutes" >&2
    exit 1
}

azurite --silent --disableTelemetry --skipApiVersionCheck --location "$dir/azurite" >"$dir/azurite.log" 2>&1 &
pids+=($!)
python3 -u deploy/laptop/receiver.py 9000 127.0.0.1 >"$dir/receiver.log" 2>&1 &
pids+=($!)
# Core Tools leaves alone what the environment sets.
export pollers__orders__output__kind=http pollers__orders__output__url=http://127.0.0.1:9000/orders
func start >"$dir/func.log" 2>&1 &
pids+=($!)
until_ready "the host" curl -fsS http://127.0.0.1:7071/admin/host/status
curl -fsS -X POST -H 'Content-Type: application/json' -d '{"input":""}' http://127.0.0.1:7071/admin/functions/orders
until_ready "a row at the receiver" grep -q '^/orders .*rowrelay\.row' "$dir/receiver.log"
echo "smoke: $(grep -c '^/orders ' "$dir/receiver.log") request(s) arrived; the first:"
grep -m 1 '^/orders ' "$dir/receiver.log" | cut -c 1-300
