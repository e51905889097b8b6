#!/usr/bin/env bash
# Writes docs/licences.md: every module that is in the binary, with the licence that its files hold. Fails for one whose licence
# does not go together with Apache-2.0. `scripts/licences.sh check` only compares.
set -euo pipefail
cd "$(dirname "$0")/../internal/release"

case ${1-} in
    '') go run . licences ;;
    check) go run . licences -check ;;
    *) echo "usage: scripts/licences.sh [check]" >&2; exit 2 ;;
esac
