#!/usr/bin/env bash
# From an empty machine to a delivered row: clones this repository into an empty home and runs its demo until rows arrive, then
# builds the program, makes a table, and runs rowrelay until a row has arrived at an HTTP endpoint. Prints each command, what it
# printed, and the second at which it ended.
#
#   scripts/recording.sh [FILE]   put the log into FILE, between its lines "recording begins" and "recording ends", too
#
# MODULES=warm keeps the machine's module cache, and so leaves the downloads out; by default nothing is there but Go, git, make
# and sqlite3. The clone comes from a local directory (ROWRELAY_CLONE, default this repository at HEAD), so the time of a
# clone over the network is not in it.
# shellcheck disable=SC2016,SC2088 # the commands are for the new user's shell to expand
set -euo pipefail
cd "$(dirname "$0")/.."

file=${1-}
source=${ROWRELAY_CLONE:-$PWD}
for need in go git make sqlite3; do
    command -v "$need" >/dev/null || { echo "recording: $need is missing: sudo apt-get install $need" >&2; exit 1; }
done
[[ -z $file ]] || grep -q '^<!-- recording begins -->$' "$file" || { echo "recording: $file has no line <!-- recording begins -->" >&2; exit 1; }

empty=$(mktemp -d)
log=$empty/log
demo=
receiver=
relay=
# Of what was started here, by its id. The module cache is read-only: GOFLAGS below makes it removable.
# shellcheck disable=SC2329 # the trap calls it
clean_up() {
    local pid
    for pid in $relay $receiver $demo; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$empty"
}
trap clean_up EXIT

modules=$(go env GOMODCACHE)
[[ ${MODULES-} == warm ]] || modules=$empty/home/go/pkg/mod
goproxy=$(go env GOPROXY)
mkdir "$empty/home"
# What a new user's shell has; nothing of this one's settings.
fresh=(env -i HOME="$empty/home" PATH="$PATH" LANG=C.UTF-8 TERM=dumb GOPROXY="$goproxy" GOMODCACHE="$modules" GOFLAGS="-modcacherw -buildvcs=false" SOURCE="$source")

begun=$EPOCHREALTIME
seconds() { LC_ALL=C awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }
# cpu: the processor seconds, of both kinds, of all that ended so far. The clock depends on what else the machine does; this hardly.
cpu() {
    times >"$empty/times" # not in a subshell, which would have its own
    LC_ALL=C awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } print sum }' "$empty/times" >"$empty/cpu"
}
note() { printf '%s\n' "$*" | tee -a "$log"; }

# step COMMAND: runs it as a new user's shell would, in the directory that the one before left, and shows it. What it prints is
# shown as it is, but for the name of the temporary directory.
here=$empty/home
step() {
    local rc=0
    printf '$ %s\n' "$1" | tee -a "$log"
    (cd "$here" && "${fresh[@]}" bash -c "set -eo pipefail; $1"$'\n''pwd >"$HOME/.here"') >"$empty/out" 2>&1 || rc=$?
    # Where modules are fetched, the list of downloads is longer than all the rest.
    awk '/^go: downloading/ { n++; next } { print } END { if (n) print "(and " n " lines: go: downloading …)" }' "$empty/out" | sed "s#$empty/home#~#g" | tee -a "$log"
    [[ $rc == 0 ]] || { echo "recording: it failed with $rc" >&2; exit 1; }
    here=$(<"$empty/home/.here")
    printf '                                                        [%s s]\n' "$(seconds)" | tee -a "$log"
}

# start NAME COMMAND: the same, in the background; what it prints goes to a file that a later step shows.
start() {
    printf '$ %s >~/%s.log 2>&1 &\n' "$2" "$1" | tee -a "$log"
    (cd "$here" && exec "${fresh[@]}" bash -c "exec $2") >"$empty/home/$1.log" 2>&1 &
    printf -v "$1" '%s' "$!"
}

# until_in FILE TEXT [TENTHS]: waits for the text, so many tenths of a second at most, or two minutes.
until_in() {
    local tries
    for ((tries = 0; tries < ${3:-1200}; tries++)); do
        grep -q -- "$2" "$empty/home/$1" 2>/dev/null && return
        sleep 0.1
    done
    echo "recording: $1 never had: $2" >&2; tail -n 20 "$empty/home/$1" >&2; exit 1
}

# A free port below the ephemeral range, so that no outgoing connection takes it.
free_port() {
    local p
    for _ in {1..200}; do
        p=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
    done
    echo "recording: no free port found" >&2; exit 1
}

# ---- what a new user does ------------------------------------------------------------------------

step 'git clone --quiet "$SOURCE" rowrelay && cd rowrelay'
start demo 'make demo'
until_in demo.log 'received [1-9]' 3000
first=$(seconds)
note "                                                        [$first s: the demo's rows arrive]"
kill -INT "$(pgrep -P "$demo")"
note '$ kill -INT %1      # Ctrl-C'
wait "$demo" || { echo "recording: make demo ended with $?" >&2; exit 1; }
demo=
step 'tail -n 2 ~/demo.log'
before=$(seconds); cpu; cpu_before=$(<"$empty/cpu"); load=$(cut -d' ' -f1 /proc/loadavg)
step 'make build'
cpu; cpu_built=$(LC_ALL=C awk -v a="$cpu_before" -v b="$(<"$empty/cpu")" 'BEGIN { printf "%.0f", b - a }')
built=$(LC_ALL=C awk -v a="$before" -v b="$(seconds)" 'BEGIN { print b - a }')
step './rowrelay version'
step 'mkdir ~/shop && cd ~/shop'
step 'sqlite3 shop.db "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL);"'
http=$(free_port)
metrics=$(free_port)
step "cat >local.settings.json <<'JSON'
{
  \"Values\": {
    \"SHOP_DB\": \"sqlite:shop.db\",
    \"state__kind\": \"file\",
    \"status__listen\": \"127.0.0.1:$metrics\",
    \"pollers__orders__source__connection\": \"SHOP_DB\",
    \"pollers__orders__source__table\": \"orders\",
    \"pollers__orders__source__cursor\": \"id\",
    \"pollers__orders__output__kind\": \"http\",
    \"pollers__orders__output__url\": \"http://127.0.0.1:$http/hooks/orders\"
  }
}
JSON"
step "cat >receiver.go <<'GO'
package main

import (
	\"fmt\"
	\"io\"
	\"net/http\"
)

func main() {
	http.HandleFunc(\"POST /hooks/orders\", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf(\"received: %s\\n\", body)
	})
	fmt.Println(http.ListenAndServe(\"127.0.0.1:$http\", nil))
}
GO"
step 'go build -o receiver receiver.go'
start receiver ./receiver
start relay '~/rowrelay/rowrelay run'
until_in relay.log '"msg":"running"'
ready=$(seconds)
note "                                                        [$ready s: it runs]"
step "sqlite3 shop.db \"INSERT INTO orders (item) VALUES ('tea');\""
written=$EPOCHREALTIME
until_in receiver.log '"item":"tea"'
delivered=$(seconds)
latency=$(LC_ALL=C awk -v a="$written" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
note "                                                        [$delivered s: the first row is delivered]"
step 'cat ~/receiver.log'
step '~/rowrelay/rowrelay state show orders'
kill -INT "$relay"
note '$ kill -INT %2      # Ctrl-C'
wait "$relay" || { echo "recording: rowrelay run ended with $?" >&2; exit 1; }
relay=
step 'cat ~/relay.log'

# ---- the figures ---------------------------------------------------------------------------------

note ''
LC_ALL=C awk -v demo="$first" -v all="$delivered" -v built="$built" -v row="$latency" -v cpu="$cpu_built" -v modules="${MODULES:-cold}" 'BEGIN {
    printf "From the clone to the first row of the demo: %.0f s with %s modules and an empty compiler cache.\n", demo, modules
    printf "From the demo to the first row of an own table: %.0f s, %.0f %% of it the build of the whole program.\n", all - demo, 100 * built / (all - demo)
    printf "That build took %s processor seconds.\n", cpu
    printf "The row itself arrived %.1f s after its INSERT had returned (the schedule is one tick a second).\n", row }' | tee -a "$log"
note "Machine: $(nproc) cores, $(go env GOVERSION) $(go env GOOS)/$(go env GOARCH), load $load before the build and $(cut -d' ' -f1 /proc/loadavg) at the end, commit $(git -C "$source" rev-parse --short HEAD 2>/dev/null || echo unknown)."

if [[ -n $file ]]; then
    awk -v log_file="$log" '
        /^<!-- recording begins -->$/ { print; print "```"; while ((getline line <log_file) > 0) print line; print "```"; skip = 1; next }
        /^<!-- recording ends -->$/ { skip = 0 }
        !skip' "$file" >"$empty/new"
    cat "$empty/new" >"$file"
fi
