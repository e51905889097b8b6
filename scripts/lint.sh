#!/usr/bin/env bash
# `make lint`: golangci-lint at one pinned version, with .golangci.yml. An installed binary of that
# version is used; otherwise Go builds it from the module proxy, once, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.." || exit 1

version=2.7.2
bin=$(go env GOBIN)
for candidate in "$(command -v golangci-lint || true)" "${bin:-$(go env GOPATH)/bin}/golangci-lint"; do
    if [[ -x $candidate && $("$candidate" version --short 2>/dev/null) == "$version" ]]; then
        exec "$candidate" run "$@"
    fi
done
echo "lint: building golangci-lint $version (once; it takes minutes)" >&2
exec go run "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version" run "$@"
