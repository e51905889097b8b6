package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// said runs a command with settings, in the present directory.
func said(t *testing.T, environ []string, line string) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = execute(t.Context(), strings.Fields(line), environ, nil, &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

// The last line of check counts.
func TestCheckEndsWithASummary(t *testing.T) {
	s := twoPollers(t)
	out, _, err := s.cli("check")
	if err != nil || !strings.HasSuffix(out, "\n2 of 2 pollers ok, 2 warnings, no failures\n") {
		t.Errorf("%v\n%s", err, out)
	}
	s.settings["pollers__orders__source__tabel"] = "x"
	out, _, err = s.cli("check")
	if err == nil || !strings.HasSuffix(out, "\n1 of 2 pollers ok, 1 warning, 1 failure\n") {
		t.Errorf("%v\n%s", err, out)
	}
	var view struct{ Summary map[string]int }
	out, _, _ = s.cli("check", "--json")
	if err := json.Unmarshal([]byte(out), &view); err != nil || view.Summary["ok"] != 1 || view.Summary["failures"] != 1 ||
		view.Summary["pollers"] != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// Pollers whose servers are silent are looked at side by side.
func TestCheckAsksSeveralAtOnce(t *testing.T) {
	const pollers = 4
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	most := make(chan int, 1)
	go func() {
		var open []net.Conn
		for len(open) < pollers { // each has a connection of its own, and gives it up after a second
			conn, err := server.Accept()
			if err != nil {
				break
			}
			open = append(slices.DeleteFunc(open, ended), conn)
		}
		most <- len(open)
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	environ := []string{"state__kind=file", "state__path=" + t.TempDir(), "state__app_name=shop"}
	for i := range pollers {
		name := fmt.Sprintf("p%d", i)
		environ = append(environ,
			fmt.Sprintf("DB%d=postgres://u:p@%s/%s?sslmode=disable&connect_timeout=1", i, server.Addr(), name))
		for setting, value := range map[string]string{"source__connection": fmt.Sprintf("DB%d", i), "source__table": "orders",
			"source__cursor": "id", "output__kind": "stdout"} {
			environ = append(environ, "pollers__"+name+"__"+setting+"="+value)
		}
	}
	out, _, err := said(t, environ, "check")
	if err == nil || !strings.Contains(out, "0 of 4 pollers ok") {
		t.Errorf("%v\n%s", err, out)
	}
	_ = server.Close()
	if n := <-most; n != pollers {
		t.Errorf("the last of %d pollers was asked when %d connections were open", pollers, n)
	}
}

// ended reports whether the other side has closed a connection.
func ended(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := io.Copy(io.Discard, conn)
	return err == nil || !errors.Is(err, os.ErrDeadlineExceeded)
}

// With --json, check prints JSON whatever is wrong.
func TestCheckIsJSONWhateverIsWrong(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, c := range map[string]struct{ local, line, want string }{
		"no JSON":        {"{", "check --json", "is not JSON with an object of Values"},
		"no such file":   {"", "check --json --settings gone.json", "gone.json"},
		"no such poller": {`{"Values":{}}`, "check nosuch --json", "nosuch"},
		"the checklist":  {"{", "check --production --json", "is not JSON with an object of Values"},
	} {
		writeHere(t, "local.settings.json", c.local, 0o600)
		if c.local == "" {
			if err := os.Remove("local.settings.json"); err != nil {
				t.Fatal(err)
			}
		}
		out, _, err := said(t, nil, c.line)
		var view struct{ Faults []string }
		if err == nil || json.Unmarshal([]byte(out), &view) != nil || len(view.Faults) != 1 ||
			!strings.Contains(view.Faults[0], c.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// Check and functions see what the Functions host would refuse, or leave out.
func TestWhatTheHostRefusesIsSeen(t *testing.T) {
	const handler = `"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}`
	for name, c := range map[string]struct{ host, function, want string }{
		"a name with two underscores": {`{` + handler + `}}`, "%POLL__ORDERS%", "POLL__ORDERS, which the host does not find"},
		"a filter": {`{` + handler + `},"functions":["audit"]}`, "%ORDERS_SCHEDULE%",
			"functions leaves out orders"},
		"forwarding": {`{` + handler + `,"enableForwardingHttpRequest":true}}`, "%ORDERS_SCHEDULE%",
			"enableForwardingHttpRequest is true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			writeHere(t, "rowrelay", "", 0o700)
			writeHere(t, "host.json", c.host, 0o600)
			if err := os.Mkdir("orders", 0o700); err != nil {
				t.Fatal(err)
			}
			writeHere(t, "orders/function.json",
				`{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"`+c.function+`"}]}`, 0o600)
			environ := append(shopSettings(), "FUNCTIONS_WORKER_RUNTIME=custom", "ORDERS_SCHEDULE=*/10 * * * * *",
				"POLL__ORDERS=*/10 * * * * *", "AzureWebJobsStorage=UseDevelopmentStorage=true")
			out, _, err := said(t, environ, "check")
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("check: %v\n%s", err, out)
			}
			if lacks := lacking(t, functionsIn(t, environ)); len(lacks) != 1 || !strings.Contains(lacks[0], c.want) {
				t.Errorf("functions: %q", lacks)
			}
		})
	}
}

// What a fan-out lacks is lacking: nothing says the opposite after it.
func TestFunctionsDoNotContradictThemselves(t *testing.T) {
	t.Chdir(t.TempDir())
	writeHere(t, "rowrelay", "", 0o700)
	writeHere(t, "host.json", `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`, 0o600)
	printed := functionsIn(t, append(shopSettings(), "pollers__orders__source__mode=outbox",
		"pollers__orders__source__fanout_queue=parts", "pollers__orders__source__fanout_connection=AzureWebJobsStorage",
		"AzureWebJobsStorage=UseDevelopmentStorage=true", "FUNCTIONS_WORKER_RUNTIME=custom",
		"ORDERS_SCHEDULE=*/10 * * * * *"))
	if lacks := lacking(t, printed); len(lacks) != 3 || !strings.Contains(lacks[0], "extensionBundle") {
		t.Errorf("%s", printed)
	}
}
