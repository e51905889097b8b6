package testenv

import (
	"errors"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// MariaDBServer is a server of a test's own.
type MariaDBServer struct {
	// URL leads to the database shop.
	URL string

	tb   testing.TB
	dir  string
	port int
}

// OwnMariaDB starts a server with an empty database shop.
func OwnMariaDB(tb testing.TB) *MariaDBServer {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a server: `make test` runs this")
	}
	s := &MariaDBServer{tb: tb, dir: ownDir(tb, "rowrelay-mariadb-"), port: freePorts(tb, 1)[0]}
	s.URL = "mysql://rowrelay@" + s.address() + "/shop"
	init := "CREATE DATABASE IF NOT EXISTS shop;\nCREATE USER IF NOT EXISTS 'rowrelay'@'127.0.0.1';\n" +
		"GRANT ALL PRIVILEGES ON *.* TO 'rowrelay'@'127.0.0.1';\n"
	if err := os.WriteFile(s.init(), []byte(init), 0o644); err != nil { //nolint:gosec // the server reads it as nobody
		tb.Fatal(err)
	}
	runIn(tb, s.dir, asNobody(s.program("mariadb-install-db"), "--no-defaults", "--datadir="+s.data(),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-flush-log-at-trx-commit=0")...)
	s.start()
	return s
}

// Restart ends the server in order, as an upgrade would, and starts it again after a while.
func (s *MariaDBServer) Restart(while func()) {
	s.tb.Helper()
	db := open(s.tb, "mysql", MySQLDSN(s.tb, s.URL))
	exec(s.tb, db, "SHUTDOWN")
	closeDB(s.tb, db)
	ended := Await(setup, func() error { // the next server waits for the locks on the files
		conn, err := net.Dial("tcp", s.address())
		if err != nil {
			return nil //nolint:nilerr // nobody listens there any more
		}
		_ = conn.Close()
		return errors.New("it still listens")
	})
	if ended != nil {
		s.tb.Fatalf("testenv: MariaDB: %v", ended)
	}
	while()
	s.start()
}

func (s *MariaDBServer) start() {
	s.tb.Helper()
	command := asNobody(s.program("mariadbd"), "--no-defaults", "--datadir="+s.data(), "--tmpdir="+s.data(),
		"--socket=s.sock",
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.port), "--init-file="+s.init(), "--skip-name-resolve",
		"--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", "--performance-schema=OFF")
	start(s.tb, "MariaDB", s.address(), command[0], command[1:]...)
	db := open(s.tb, "mysql", MySQLDSN(s.tb, s.URL))
	defer closeDB(s.tb, db)
	if err := Await(setup, db.Ping); err != nil {
		s.tb.Fatalf("testenv: MariaDB does not answer: %v", err)
	}
	record(s.tb, "MariaDB", query(s.tb, db, "SELECT VERSION()"))
}

func (s *MariaDBServer) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }
func (s *MariaDBServer) data() string    { return filepath.Join(s.dir, "data") }
func (s *MariaDBServer) init() string    { return filepath.Join(s.dir, "init.sql") }

func (s *MariaDBServer) program(name string) string {
	s.tb.Helper()
	path := "/usr/sbin/" + name
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path, err := osexec.LookPath(name)
	if err != nil {
		s.tb.Fatalf("testenv: this test needs a MariaDB server of its own: apt-get install -y mariadb-server-core "+
			"(make test does it): %v", err)
	}
	return path
}
