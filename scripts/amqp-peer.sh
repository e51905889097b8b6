#!/usr/bin/env bash
# Runs the AMQP 1.0 peer of the tests of the outputs servicebus and eventhubs on a loopback port, until its standard input
# ends (internal/amqptest/peer.py says what it takes there). The tests start it themselves.
#
#   scripts/amqp-peer.sh PORT       run it
#   scripts/amqp-peer.sh prepare    only see to it that its package is installed
#
# It needs Debian's python3-qpid-proton, which root gets with apt-get on first use.
set -euo pipefail

# Debian's Python, whose package it is; another one may come first in PATH.
readonly PYTHON=/usr/bin/python3
readonly DIR=${ROWRELAY_SERVICES_DIR:-/tmp/rowrelay-services-$UID}

die() { printf 'amqp-peer: %s\n' "$*" >&2; exit 1; }
installed() { [[ -x $PYTHON ]] && "$PYTHON" -c 'import proton' 2>/dev/null; }

install_proton() {
    [[ $EUID -eq 0 ]] || die "missing package: sudo apt-get install python3-qpid-proton"
    command -v apt-get >/dev/null || die "missing: python3-qpid-proton, and this is no Debian to install it on"
    mkdir -p "$DIR"
    exec 9>"$DIR/amqp-peer.lock" # test packages run side by side
    flock -w 600 9 || die "another call holds $DIR/amqp-peer.lock for 10 minutes"
    if ! installed; then
        { apt-get update -qq || true
          DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-qpid-proton
        } >"$DIR/amqp-peer.log" 2>&1 9>&- || { tail -n 20 "$DIR/amqp-peer.log" >&2; die "apt-get failed; the whole log is $DIR/amqp-peer.log"; }
    fi
    exec 9>&-
}

[[ $# -eq 1 ]] || die "usage: scripts/amqp-peer.sh PORT | prepare"
installed || install_proton
[[ $1 == prepare ]] && exit
exec "$PYTHON" "$(dirname "${BASH_SOURCE[0]}")/../internal/amqptest/peer.py" "$1"
