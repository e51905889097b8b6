package testenv

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// PgBouncer starts a PgBouncer in transaction mode before the database of a postgres:// URL, and returns the URL that
// leads through it. Its pool is of one server connection: what a client leaves on that, the next one finds.
func PgBouncer(tb testing.TB, postgresURL string) string {
	tb.Helper()
	return PgBouncerIn(tb, postgresURL, "transaction")
}

// PgBouncerIn is PgBouncer in another pool_mode.
func PgBouncerIn(tb testing.TB, postgresURL, mode string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a pooler: `make test` runs this")
	}
	bin, err := osexec.LookPath("pgbouncer")
	if err != nil {
		if bin, err = osexec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			tb.Fatalf("testenv: this test needs a real pooler: apt-get install -y pgbouncer (make test does it): %v", err)
		}
	}
	u, err := url.Parse(postgresURL)
	if err != nil {
		tb.Fatal("testenv: not a postgres:// URL") // without the value: it holds a password
	}
	password, _ := u.User.Password()
	port := freePorts(tb, 1)[0]
	dir, err := os.MkdirTemp("", "rowrelay-pgbouncer-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("testenv: %v", err)
		}
	})
	users := filepath.Join(dir, "users")
	config := filepath.Join(dir, "pgbouncer.ini")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatalf("testenv: write PgBouncer's configuration: %v", err)
		}
	}
	write(users, fmt.Sprintf("%q %q\n", u.User.Username(), password))
	write(config, fmt.Sprintf(`[databases]
%[1]s = host=%[2]s port=%[3]s dbname=%[1]s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[4]d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %[5]s
pool_mode = %[6]s
default_pool_size = 1
max_client_conn = 100
query_wait_timeout = 60
`, strings.TrimPrefix(u.Path, "/"), u.Hostname(), u.Port(), port, users, mode))
	args := []string{config}
	if os.Geteuid() == 0 { // it refuses root
		args = append([]string{"-u", "nobody"}, args...)
		for _, path := range []string{dir, users, config} {
			if err := os.Chown(path, nobody, nobody); err != nil {
				tb.Fatalf("testenv: %v", err)
			}
		}
	}
	start(tb, "PgBouncer", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)), bin, args...)
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	version, err := osexec.CommandContext(ctx, bin, "--version").Output()
	if err != nil {
		tb.Fatalf("testenv: pgbouncer --version: %v", err)
	}
	record(tb, "PgBouncer", strings.TrimPrefix(strings.SplitN(string(version), "\n", 2)[0], "PgBouncer "))
	u.Host = net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	return u.String()
}

// nobody is the user and group that servers run as which refuse root.
const nobody = 65534

// start runs a server of a test's own until the test ends, and waits until it listens. The shell kills it when its
// stdin ends: also when this process is no more.
func start(tb testing.TB, name, address, bin string, args ...string) {
	tb.Helper()
	cmd := osexec.Command("sh", append([]string{"-c", `"$@" & server=$!; read -r _; kill -KILL $server; wait $server`,
		"sh", bin}, args...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatalf("testenv: start %s: %v", name, err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		tb.Fatalf("testenv: start %s: %v", name, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	tb.Cleanup(func() {
		_ = stdin.Close()
		<-ended
	})
	err = Await(setup, func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	if err != nil {
		_ = stdin.Close()
		<-ended
		tb.Fatalf("testenv: %s does not listen: %v\n%s", name, err, out.String())
	}
}
