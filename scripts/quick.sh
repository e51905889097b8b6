#!/usr/bin/env bash
# `make quick`: the tests that need no service, no program and no minute, under the race detector; for each save. What
# has not changed since comes from Go's cache of results. `make test` runs everything.
set -euo pipefail
cd "$(dirname "$0")/.." || exit 1

# A test that needs an engine runs where the shell names one (scripts/services.sh env), and would then not be quick.
for variable in "${!ROWRELAY_TEST_@}"; do unset "$variable"; done

# These start programs and engines, or read the whole tree.
never='bench|deploy|docs|e2e|examples|internal|sim|templates'
# These link most of the program, or need a service or a database for most tests: that takes longer than all other tests
# together. They are tested where they were edited.
seldom='admin|azure|cmd|deadletter|demo|engine/(engines|mysql|postgres)|inspect|outbox|production'
seldom+='|publisher$|publisher/(mapping|rows)|output/(azmessaging|eventhubs|kafka|rabbitmq|servicebus|storagequeue)|source/pool'
seldom+='|state/(blobstore|sqlstore|tablestore)|status|statuspage|telemetry|tracking|wiring'

module=$(go list -m)
edited=$({ git diff --name-only HEAD && git ls-files --others --exclude-standard; } 2>/dev/null |
    sed -n 's|/[^/]*\.go$||p' | sort -u) || true
packages=() left=()
for package in $(go list ./...); do
    folder=${package#"$module"/}
    [[ $folder =~ ^($never)(/|$) ]] && continue
    if [[ $folder =~ ^($seldom)(/|$) ]] && ! grep -qxF -- "$folder" <<<"$edited"; then
        left+=("$folder")
    else
        packages+=("$package")
    fi
done
echo "Left to make test, because unchanged: ${left[*]}"

# The race detector waits for a second at the end of each program; there are 40.
export GORACE="atexit_sleep_ms=0 ${GORACE:-}"
exec go test -race -gcflags='modernc.org/...=-race=false' -short "$@" "${packages[@]}"
