package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// tampered makes another document of the stored one; writing the old one back mends.
func tampered(edit func(text string) string) func(*testing.T, *stall, *sink) (settings, func()) {
	return func(t *testing.T, s *stall, _ *sink) (settings, func()) {
		t.Helper()
		for _, good := range s.documents() {
			bad := edit(good)
			if bad == good {
				t.Fatalf("the document was not changed: %s", good)
			}
			s.tamper(bad)
			return nil, func() { s.tamper(good) }
		}
		t.Fatal("there is no document")
		return nil, nil
	}
}

func replace(what, with string) func(string) string {
	return func(text string) string { return strings.Replace(text, what, with, 1) }
}

// require adds a member that a binary must know to those that the document names.
func require(member string) func(string) string {
	return func(text string) string {
		if strings.Contains(text, `"requires": [`) {
			return strings.Replace(text, `"requires": [`, `"requires": ["`+member+`",`, 1)
		}
		return strings.Replace(text, `"version": 1,`, `"version": 1, "requires": ["`+member+`"],`, 1)
	}
}

func TestBadInputState(t *testing.T) {
	t.Parallel()
	cases := []badInput{
		{name: "another version", spoil: tampered(replace(`"version": 1`, `"version": 2`)),
			says: []string{"version 2", "this binary knows 1", "use a newer rowrelay"}},
		{name: "an unknown requirement", spoil: tampered(require("clairvoyance")),
			says: []string{`"clairvoyance"`, "use a newer rowrelay"}},
		{name: "truncated", spoil: tampered(func(s string) string { return s[:len(s)/2] }),
			says: []string{"is truncated", "restore it", "--to beginning`"}},
		{name: "empty", spoil: tampered(func(string) string { return "" }),
			says: []string{"is empty", "restore it", "--to beginning`"}},
		{name: "not JSON", spoil: tampered(func(string) string { return "<html>" }),
			says: []string{"is not JSON", "restore it", "--to beginning`"}},
		{name: "no cursor", spoil: tampered(replace(`"cursor"`, `"kursor"`)),
			says: []string{"checkpoint.cursor is missing", "restore it", "--to beginning`"}},
		{name: "another poller's", spoil: tampered(replace(`"poller_name": "`, `"poller_name": "not_`)),
			says: []string{"belongs to another poller", "state__app_name"}},
	}
	for i := range cases {
		cases[i].event, cases[i].stored = "checkpoint_load_failed", true
		cases[i].stall = sqliteStall
	}
	for _, c := range cases[:3] {
		c.stall, c.name = postgresStall, "blob: "+c.name
		cases = append(cases, c)
	}
	cases = append(cases, []badInput{
		{name: "another source", stall: sqliteStall, stored: true, bad: settings{"source__where": "version > 0"},
			event: "fingerprint_mismatch",
			says:  []string{"Undo the change", "rowrelay state accept-fingerprint orders", "--to beginning"}},
		{name: "a directory in its place", stall: sqliteStall, spoil: directoryInPlace, event: "checkpoint_load_failed",
			says: []string{"state__path", "give a directory of its own"}},
		{name: "state path is a file", stall: sqliteStall, spoil: pathIsFile, event: "config_invalid",
			says: []string{"state__path", "give a directory of its own"}},
		{name: "access denied", stall: postgresStall, spoil: storageAnswers(http.StatusForbidden),
			event: "checkpoint_load_failed",
			says:  []string{"access denied", "Storage Blob Data Contributor", "state__connection"}},
		{name: "busy", stall: postgresStall, spoil: storageAnswers(http.StatusServiceUnavailable),
			event: "checkpoint_load_failed",
			says:  []string{"HTTP 503", "state__connection"}},
		{name: "storage down", stall: postgresStall, spoil: storageDown, event: "checkpoint_load_failed",
			says: []string{"cannot be reached", "connection refused", "state__connection"}},
		{name: "wrong account key", stall: postgresStall, spoil: wrongKey, event: "checkpoint_load_failed",
			says: []string{"access denied", "account key"}},
		{name: "missing container", stall: postgresStall, spoil: missingContainer, event: "checkpoint_load_failed",
			says: []string{"does not exist", "create it, or set state__create=true"}},
	}...)
	tryAll(t, cases)
}

// directoryInPlace: what stands at the document's place cannot be read. (The permissions of a file would not stop
// root.)
func directoryInPlace(t *testing.T, s *stall, _ *sink) (settings, func()) {
	t.Helper()
	path := filepath.Join(s.settings["state__path"], "state", "shop", s.poller+".json")
	kept := path + ".kept"
	if err := os.Rename(path, kept); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.MkdirAll(path, 0o750); err != nil {
		t.Fatal(err)
	}
	return nil, func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(kept, path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

func pathIsFile(t *testing.T, _ *stall, _ *sink) (settings, func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	testfile.Write(t, path, "")
	return settings{".state__path": path}, nil
}

func storageAnswers(status int64) func(*testing.T, *stall, *sink) (settings, func()) {
	return func(t *testing.T, s *stall, _ *sink) (settings, func()) {
		storage, through := countStorage(t, s.settings["AzureWebJobsStorage"])
		storage.broken.Store(status)
		return settings{".AzureWebJobsStorage": through}, func() { storage.broken.Store(0) }
	}
}

func storageDown(t *testing.T, s *stall, _ *sink) (settings, func()) {
	connection := s.settings["AzureWebJobsStorage"]
	endpoint := storageMember(t, connection, "BlobEndpoint")
	g, through := gateBefore(t, endpoint)
	g.down()
	return settings{".AzureWebJobsStorage": strings.Replace(connection, endpoint, through, 1)}, g.up
}

func wrongKey(t *testing.T, s *stall, _ *sink) (settings, func()) {
	connection := s.settings["AzureWebJobsStorage"]
	return settings{".AzureWebJobsStorage": strings.Replace(connection, storageMember(t, connection, "AccountKey"),
		"d3Jvbmcga2V5LCBidXQgYmFzZTY0", 1)}, nil
}

// missingContainer names one that is not there, without leave to create it. A shared access signature hides that the
// account is the emulator's, where a container is always created.
func missingContainer(t *testing.T, s *stall, _ *sink) (settings, func()) {
	return settings{".AzureWebJobsStorage": signed(t, s.settings["AzureWebJobsStorage"]), ".state__create": "",
		".state__container": unique("missing")}, nil
}

// signed is a connection string with a shared access signature instead of the key.
func signed(t *testing.T, connection string) string {
	t.Helper()
	client, err := service.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal("the storage connection string cannot be read")
	}
	address, err := client.GetSASURL(sas.AccountResourceTypes{Service: true, Container: true, Object: true},
		sas.AccountPermissions{Read: true, Write: true, List: true, Create: true, Delete: true}, time.Now().Add(time.Hour),
		nil)
	if err != nil {
		t.Fatal("no signature could be made")
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("the signed address is not a URL")
	}
	return "BlobEndpoint=" + storageMember(t, connection, "BlobEndpoint") + ";SharedAccessSignature=" + u.RawQuery
}

// TestBadInputSignature: the same signature with a container that exists works, so that its test tests the container.
func TestBadInputSignature(t *testing.T) {
	to := newSink(t)
	s := postgresStall(t, to.URL)
	s.add(1, 4)
	once(t, t.TempDir(), s.settings)
	s.add(4, 7)
	again := s.withOwn(settings{".AzureWebJobsStorage": signed(t, s.settings["AzureWebJobsStorage"]),
		".state__create": ""})
	once(t, t.TempDir(), again)
	if n, repeated := to.count(); n != 6 || repeated != 0 {
		t.Errorf("%d events, %d repeated", n, repeated)
	}
}

// TestBadInputFullDisk: no byte fits into a file any more, before the first document and in the middle. A limit on the
// size of files stands for the full disk, so that the test works for every user; where it may mount one, a real full
// disk is tried too.
func TestBadInputFullDisk(t *testing.T) {
	t.Parallel() // most of it waits for repetitions
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprintf("file size limit/stored=%t", stored), func(t *testing.T) {
			t.Parallel()
			fullDisk(t, stored, filepath.Join(t.TempDir(), "state"), limitFiles)
		})
		t.Run(fmt.Sprintf("full file system/stored=%t", stored), func(t *testing.T) {
			t.Parallel()
			disk, ok := smallDisk(t)
			if !ok {
				t.Log("no real full file system was tried: this user may not mount one")
				return
			}
			fullDisk(t, stored, filepath.Join(disk, "state"), fill)
		})
	}
}

// smallDisk mounts a file system of 64 KiB, where this user may.
func smallDisk(t *testing.T) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	if exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=64k", "none", dir).Run() != nil {
		return "", false
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir, true
}

// breakDisk lets nothing be written below state__path; what it returns mends that.
type breakDisk func(t *testing.T, s *stall, root string) (mend func(*fakehost.Host) *fakehost.Host)

func fullDisk(t *testing.T, stored bool, path string, breakIt breakDisk) {
	to := newSink(t)
	s := sqliteStall(t, to.URL)
	s.settings["state__path"] = path
	s.files(t, path)
	s.add(1, 4)
	have, rows := 0, 3
	if stored {
		once(t, t.TempDir(), s.settings)
		s.add(4, 7)
		have, rows = 3, 6
	}
	root := functionApp(t, s.settings)
	before := s.documents()
	mend := breakIt(t, s, root)
	host := startHost(t, root, s.settings)
	for range 2 {
		line := readLine(t, mustFail(t, host, "orders"))
		want := "checkpoint_load_failed"
		if stored {
			want = "lease_acquire_failed"
		}
		if line.Event != want || !strings.Contains(line.Error, "full") ||
			!strings.Contains(line.Error, "make room, or move state__path") {
			t.Errorf("want %s: %s", want, line)
		}
		if testing.Verbose() {
			t.Log(line)
		}
	}
	if is := s.documents(); fmt.Sprint(is) != fmt.Sprint(before) {
		t.Errorf("the state changed:\n%s\n%s", before, is)
	}
	if n, _ := to.count(); n != have {
		t.Errorf("%d events arrived while no lease could be written, want %d", n, have)
	}
	if err := host.Stopped(); err != nil || host.Restarts() > 0 {
		t.Errorf("the process did not go on: %v, %d restarts", err, host.Restarts())
	}
	host = mend(host)
	must(t, host, "orders")
	if n, repeated := to.count(); n != rows || repeated != 0 {
		t.Errorf("mended: %d events, %d repeated, want %d and none", n, repeated, rows)
	}
}

// limitFiles starts the program from a shell that lets it write no file.
func limitFiles(t *testing.T, s *stall, root string) func(*fakehost.Host) *fakehost.Host {
	t.Helper()
	path := filepath.Join(root, "rowrelay")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\nulimit -f 0\nexec "+programtest.Path(t)+` "$@"`+"\n"), 0o700); err != nil { //nolint:gosec // a script
		t.Fatal(err)
	}
	return func(host *fakehost.Host) *fakehost.Host {
		host.Close()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(programtest.Path(t), path); err != nil {
			t.Fatal(err)
		}
		return startHost(t, root, s.settings)
	}
}

// fill leaves no byte on the disk; removing what was put there mends, and the process goes on.
func fill(t *testing.T, s *stall, _ string) func(*fakehost.Host) *fakehost.Host {
	t.Helper()
	path := filepath.Join(filepath.Dir(s.settings["state__path"]), "filler")
	// It ends with an error: that is what it is for.
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	return func(host *fakehost.Host) *fakehost.Host {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return host
	}
}

// TestADocumentThatVanishes under a running process: the poller stops, and begins nothing anew. Put back, it goes on; a
// process that starts without one begins at source__start, as ever.
func TestADocumentThatVanishes(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(*testing.T, string) *stall{"file": sqliteStall, "blob": postgresStall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			s := build(t, to.URL)
			s.add(1, 6)
			root := functionApp(t, s.settings)
			host := startHost(t, root, s.settings)
			must(t, host, s.poller)
			before := s.documents()
			s.remove()
			s.add(6, 11)
			for range 2 {
				line := readLine(t, mustFail(t, host, s.poller))
				for _, want := range []string{"state document is gone", "this process has read it at 2", "restore it",
					"start this process anew"} {
					if line.Event != "state_gone" || !strings.Contains(line.Error+" "+line.Next, want) {
						t.Errorf("the line lacks %q: %s", want, line)
					}
				}
			}
			if n, _ := to.count(); n != 5 || len(s.documents()) > 0 {
				t.Errorf("%d events, and %v", n, s.documents())
			}
			for _, good := range before {
				s.tamper(good)
			}
			must(t, host, s.poller)
			if n, repeated := to.count(); n != 10 || repeated != 0 {
				t.Errorf("put back: %d events, %d repeated", n, repeated)
			}
			s.remove()
			mustFail(t, host, s.poller)
			host.Close()
			host = startHost(t, root, s.settings)
			must(t, host, s.poller)
			if n, repeated := to.count(); n != 10 || repeated != 10 {
				t.Errorf("a new process: %d events, %d repeated", n, repeated)
			}
		})
	}
}
