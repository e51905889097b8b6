package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// write makes a file, and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	testfile.Write(t, path, content)
	return path
}

// TestValuesFromFiles: a setting, a connection that a setting names, and what %NAME% brings in may each be in a file,
// which is taken as it is but for the line's end.
func TestValuesFromFiles(t *testing.T) {
	const secret, password = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "postgres://u:100%25@127.0.0.1/shop"
	app, err := Load(with("ORDERS_DB=", "ORDERS_DB_FILE="+write(t, password+"\n"), "pollers__orders__output__kind=http",
		"pollers__orders__output__url=https://%HOOK%/x", "HOOK_FILE="+write(t, "example.com\r\n"),
		"pollers__orders__output__secret_FILE="+write(t, secret),
		"POLLERS__ORDERS__OUTPUT__HEADERS__X_API_KEY_FILE="+write(t, "50%HOOK%\n"),
		"pollers__orders__output__headers__X_File=a header",
		"state__kind=blob", "state__connection=STORE", "STORE__tenantId=t", "STORE__clientId=c",
		"STORE__blobServiceUri=https://a.blob.core.windows.net", "STORE__clientSecret_FILE="+write(t, "hunter2\n"),
		"LOG_FILE=/nowhere", "SSL_CERT_FILE=/nowhere"))
	if err != nil {
		t.Fatal(err)
	}
	p := app.Pollers[0]
	out := p.Outputs[0]
	for _, c := range []struct{ got, want string }{
		{p.Source.Connection.ConnectionString.Reveal(), password}, {p.Source.Connection.Setting, "ORDERS_DB_FILE"},
		{out.URL.Reveal(), "https://example.com/x"}, {out.Secret.Reveal(), secret},
		{out.Headers["X-Api-Key"].Reveal(), "50%HOOK%"}, {out.Headers["X-File"].Reveal(), "a header"},
		{app.State.Connection.ClientSecret.Reveal(), "hunter2"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if text := fmt.Sprintf("%+v", app); strings.Contains(text, "hunter2") || strings.Contains(text, "50%HOOK%") {
		t.Error("a secret is printed")
	}
}

// TestFilesThatCannotBeRead: the fault names the setting and the file, comes once, and shows nothing of a content.
func TestFilesThatCannotBeRead(t *testing.T) {
	dir, empty, large := t.TempDir(), write(t, "\n"), write(t, strings.Repeat("hunter2", maxFile))
	const http = "pollers__orders__output__url=https://example.com"
	for _, c := range []struct{ name, path, want string }{
		{"ORDERS_DB_FILE", dir + "/none", "none, which cannot be read: no such file or directory " +
			"(pollers__orders__source__connection needs it). Let the user that rowrelay runs as read it, or name another."},
		{"ORDERS_DB_FILE", dir, "it is no file"}, {"ORDERS_DB_FILE", empty, "it is empty"},
		{"ORDERS_DB_FILE", large, "it holds more than 65536 bytes"},
		{"pollers__orders__source__connection_FILE", dir + "/none", "no such file"},
		{"pollers__orders__output__url_FILE", dir + "/none", "no such file"},
		{"state__kind_FILE", dir + "/none", "no such file"},
		{"pollers__orders__output__secret_FILE", write(t, "hunter2"), "is not a signing secret"},
	} {
		list := slices.DeleteFunc(with("pollers__orders__output__kind=http", http), func(kv string) bool {
			return strings.HasPrefix(kv, strings.TrimSuffix(c.name, fileSuffix)+"=") // the file stands in its place
		})
		app, err := Load(append(list, c.name+"="+c.path))
		if faults := app.AllFaults(); len(faults) != 1 || faults[0].Setting != c.name ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s=%s: %v", c.name, c.path, err)
		}
	}
	_, err := Load(good("ORDERS_DB_FILE=" + write(t, "sqlite:other.db")))
	if err == nil || !strings.Contains(err.Error(), "is set, and so is ORDERS_DB: it is not clear which counts") {
		t.Errorf("%v", err)
	}
	_, err = Load(good("pollers__orders__source__table_FILE=" + write(t, "other")))
	if err == nil || !strings.Contains(err.Error(), "both are set") {
		t.Errorf("%v", err)
	}
	_, err = Load(with("pollers__orders__output__kind=http", "pollers__orders__output__url=https://%HOOK%",
		"HOOK_FILE="+dir))
	if err == nil || !strings.Contains(err.Error(), "refers to HOOK_FILE, which names the file "+dir) {
		t.Errorf("%v", err)
	}
}
