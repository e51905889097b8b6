#!/usr/bin/env bash
# Prints the bill of materials (CycloneDX 1.6, JSON) of the binary for one platform; by default for this machine's.
#
#   scripts/sbom.sh [OS/ARCH [VERSION]]
set -euo pipefail
cd "$(dirname "$0")/../internal/release"

exec go run . sbom -platform "${1:-$(go env GOOS)/$(go env GOARCH)}" -version "${2:-dev}"
