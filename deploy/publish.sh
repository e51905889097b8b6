#!/usr/bin/env bash
# Builds Rowrelay for Azure and publishes it to a function app that exists:
#
#   deploy/publish.sh APP [option of `func azure functionapp publish` …]
#
# What is published is the binary, host.json and each <poller>/function.json (.funcignore leaves out
# the rest). App settings are not touched. GOARCH=arm64 builds for ARM.
set -euo pipefail
cd "$(dirname "$0")/.."

(($# > 0)) || { echo "usage: deploy/publish.sh APP [options]" >&2; exit 2; }
command -v func >/dev/null || { echo "publish: func is missing: npm install -g azure-functions-core-tools@4" >&2; exit 1; }
compgen -G '*/function.json' >/dev/null || { echo "publish: no <poller>/function.json here: write them with rowrelay functions" >&2; exit 1; }

app=$1
shift
CGO_ENABLED=0 GOOS=linux GOARCH=${GOARCH:-amd64} go build -trimpath -ldflags "-s -w" -o rowrelay ./cmd/rowrelay
func azure functionapp publish "$app" --custom "$@"
