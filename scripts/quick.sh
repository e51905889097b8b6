#!/usr/bin/env bash
# `make quick`: the tests that need no service, no program and no minute, under the race detector; for each save. What has not
# changed since comes from Go's cache of results. `make test` runs everything.
set -euo pipefail
cd "$(dirname "$0")/.." || exit 1

# A test that needs an engine runs where the shell names one (scripts/services.sh env), and would then not be quick.
for variable in "${!ROWRELAY_TEST_@}"; do unset "$variable"; done

# These start programs and engines, or read the whole tree.
packages=$(go list ./... | grep -vE '/(bench|deploy|docs|e2e|examples|internal|sim|templates)(/|$)')
# shellcheck disable=SC2086 # one word for each package
exec go test -race -gcflags='modernc.org/...=-race=false' -short "$@" $packages
