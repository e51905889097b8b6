#!/usr/bin/env bash
# Puts what an Azure function app runs into an empty or new directory: the static binary for linux/amd64, host.json and the
# function.json of each poller. azd (azure.yaml), the container (Dockerfile) and the publish scripts take it from there.
#
#   deploy/package.sh DIR
#
# GOARCH chooses another processor, VERSION is what `rowrelay version` shows.
set -euo pipefail

(($# == 1)) || { echo "usage: deploy/package.sh DIR" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

[[ -z $(ls -A "$out") || -f $out/host.json ]] || { echo "package: $out is neither empty nor a package of before" >&2; exit 1; }
compgen -G '*/function.json' >/dev/null || { echo "package: no <poller>/function.json here: write them with rowrelay functions" >&2; exit 1; }

rm -rf "${out:?}"/*
CGO_ENABLED=0 GOOS=linux GOARCH=${GOARCH:-amd64} go build -trimpath -ldflags "-s -w -X main.version=${VERSION:-dev}" -o "$out/rowrelay" ./cmd/rowrelay
install -m 644 host.json "$out/host.json"
for f in */function.json; do
    install -D -m 644 "$f" "$out/$f"
done
