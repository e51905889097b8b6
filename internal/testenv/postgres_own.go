package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// PostgresServer is a server of a test's own: a primary, or a standby that can be promoted.
type PostgresServer struct {
	// URL leads to the database postgres.
	URL string

	tb   testing.TB
	dir  string
	port int
}

// OwnPostgres starts a primary that standbys can be made of. No checkpoint is made unless a test asks for one.
func OwnPostgres(tb testing.TB) *PostgresServer {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a server: `make test` runs this")
	}
	s := newPostgresServer(tb)
	s.tool("initdb", "-D", s.data(), "-U", "rowrelay", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	s.start()
	return s
}

// Standby starts a standby of the server, which follows it until it is promoted.
func (s *PostgresServer) Standby() *PostgresServer {
	s.tb.Helper()
	standby := newPostgresServer(s.tb)
	standby.tool("pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "rowrelay", "-D", standby.data(),
		"-R", "-X", "stream", "-c", "fast", "--no-sync")
	standby.start()
	return standby
}

// Address is where the server listens.
func (s *PostgresServer) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func newPostgresServer(tb testing.TB) *PostgresServer {
	tb.Helper()
	s := &PostgresServer{tb: tb, dir: ownDir(tb, "rowrelay-postgres-"), port: freePorts(tb, 1)[0]}
	s.URL = "postgres://rowrelay@" + s.Address() + "/postgres?sslmode=disable"
	return s
}

// ownDir makes the directory of a server of a test's own, which runs as nobody where the test is root's.
func ownDir(tb testing.TB, prefix string) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("testenv: %v", err)
		}
	})
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			tb.Fatalf("testenv: %v", err)
		}
	}
	return dir
}

// asNobody is a command that no server lets root run.
func asNobody(command ...string) []string {
	if os.Geteuid() != 0 {
		return command
	}
	return append([]string{"setpriv", "--reuid", "nobody", "--regid", strconv.Itoa(nobody), "--clear-groups"}, command...)
}

// runIn runs a command in a directory.
func runIn(tb testing.TB, dir string, command ...string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	cmd := osexec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("testenv: %s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// Restart ends the server in order, as an upgrade would, and starts it again after a while.
func (s *PostgresServer) Restart(while func()) {
	s.tb.Helper()
	s.tool("pg_ctl", "stop", "-m", "fast", "-w", "-D", s.data())
	while()
	s.start()
}

func (s *PostgresServer) data() string { return filepath.Join(s.dir, "data") }

// command is a program of PostgreSQL's, which refuse root.
func (s *PostgresServer) command(name string, args ...string) []string {
	s.tb.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		path, err := osexec.LookPath(name)
		if err != nil {
			s.tb.Fatalf("testenv: this test needs a PostgreSQL server of its own: apt-get install -y postgresql (make test does it): %v", err)
		}
		found = []string{path}
	}
	slices.Sort(found)
	return asNobody(append([]string{found[len(found)-1]}, args...)...)
}

func (s *PostgresServer) tool(name string, args ...string) {
	s.tb.Helper()
	runIn(s.tb, s.dir, s.command(name, args...)...)
}

func (s *PostgresServer) start() {
	s.tb.Helper()
	command := s.command("postgres", "-D", s.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-k", "", "-c",
		"fsync=off",
		"-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "checkpoint_timeout=1h", "-c", "wal_level=replica",
		"-c", "max_wal_senders=4", "-c", "hot_standby=on", "-c", "autovacuum=off")
	start(s.tb, "PostgreSQL", s.Address(), command[0], command[1:]...)
	db := open(s.tb, "pgx", s.URL)
	defer closeDB(s.tb, db)
	var version string
	err := Await(setup, func() error {
		return db.QueryRow("SELECT current_setting('server_version')").Scan(&version)
	})
	if err != nil {
		s.tb.Fatalf("testenv: PostgreSQL does not answer: %v", err)
	}
	record(s.tb, "PostgreSQL", version)
}

// Promote makes a primary of a standby, and waits until it is one.
func (s *PostgresServer) Promote() {
	s.tb.Helper()
	db := open(s.tb, "pgx", s.URL)
	defer closeDB(s.tb, db)
	if done := query(s.tb, db, "SELECT pg_promote(true, "+fmt.Sprint(int(setup.Seconds()))+")::text"); done != "true" {
		s.tb.Fatal("testenv: the standby was not promoted")
	}
}
