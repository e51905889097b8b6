#!/usr/bin/env bash
# Brings what the programs of examples/ need into a directory, and prints it: a virtual environment with psycopg (venv/),
# node-postgres with TypeScript (node_modules/), both with the SDK of CloudEvents, PostgreSQL's JDBC driver (postgresql.jar),
# Json.NET (Newtonsoft.Json.dll), and the machine's JDK and Mono. What is missing is installed once, from PyPI, npm and Debian.
set -euo pipefail

readonly DIR=${ROWRELAY_SERVICES_DIR:-/tmp/rowrelay-services-$UID}/examples-2 # its number goes up with what is installed below
readonly JSON_NET=/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll

say() { printf 'examples: %s\n' "$*" >&2; }

mkdir -p "$DIR"
exec 9>"$DIR/lock"
flock -w 900 9

apt=()
command -v mcs >/dev/null && command -v mono >/dev/null && [[ -e /usr/lib/mono/4.5/System.Data.dll ]] || apt+=(mono-mcs mono-runtime libmono-system-data4.0-cil libmono-system-transactions4.0-cil)
[[ -e /usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so || -e /usr/lib/aarch64-linux-gnu/odbc/psqlodbcw.so ]] || apt+=(odbc-postgresql)
ldconfig -p | grep -q 'libodbc\.so\.2 ' || apt+=(libodbc2)
[[ -e $JSON_NET ]] || apt+=(libnewtonsoft-json5.0-cil)
[[ -e /usr/share/java/postgresql.jar ]] || apt+=(libpostgresql-jdbc-java)
command -v javac >/dev/null || apt+=(default-jdk-headless)
command -v npm >/dev/null || apt+=(nodejs npm)
python3 -c 'import venv, ensurepip' 2>/dev/null || apt+=(python3-venv)
if ((${#apt[@]} > 0)); then
    [[ $EUID -eq 0 ]] || { say "missing packages. Install them: sudo apt-get install ${apt[*]}"; exit 1; }
    say "installing ${apt[*]} (once)"
    { apt-get update -qq || true; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${apt[@]}"; } >"$DIR/apt.log" 2>&1 9>&- \
        || { tail -n 20 "$DIR/apt.log" >&2; exit 1; }
fi
if [[ ! -e $DIR/installed ]]; then
    say "installing psycopg, node-postgres, TypeScript and CloudEvents' SDKs (once)"
    rm -rf "$DIR/venv" "$DIR/node_modules"
    { python3 -m venv "$DIR/venv" && "$DIR/venv/bin/pip" install --quiet --no-cache-dir 'psycopg[binary]==3.3.9' cloudevents==2.2.0; } >"$DIR/pip.log" 2>&1 9>&- \
        || { tail -n 20 "$DIR/pip.log" >&2; exit 1; }
    cat >"$DIR/package.json" <<'JSON'
{ "private": true, "dependencies": { "pg": "8.16.3", "cloudevents": "10.0.0", "typescript": "5.9.3", "@types/pg": "8.15.5", "@types/node": "20.19.9" } }
JSON
    (cd "$DIR" && npm install --no-audit --no-fund --ignore-scripts) >"$DIR/npm.log" 2>&1 9>&- || { tail -n 20 "$DIR/npm.log" >&2; exit 1; }
    touch "$DIR/installed"
fi
ln -sf "$JSON_NET" "$DIR/Newtonsoft.Json.dll"
ln -sf /usr/share/java/postgresql.jar "$DIR/postgresql.jar"
echo "$DIR"
