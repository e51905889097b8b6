package target

import (
	"testing"

	"github.com/microsoft/go-mssqldb/msdsn"
)

// TestDriverURL pins what go-mssqldb is given: its parser is the one that decides on TLS and on the kind of login.
func TestDriverURL(t *testing.T) {
	target := Target{
		host: "db1", port: "1433", database: "a&b", user: "u@t", password: "p/;?#",
		fedauth: "ActiveDirectoryServicePrincipal", encrypt: "true", options: map[string]string{"dial timeout": "5"},
	}
	got, err := target.driverURL()
	if err != nil {
		t.Fatal(err)
	}
	want := "sqlserver://u%40t:p%2F;%3F%23@db1:1433?app+name=rowrelay&database=a%26b&dial+timeout=5&encrypt=true&" +
		"fedauth=ActiveDirectoryServicePrincipal&protocol=tcp&trustservercertificate=false"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestDriverReading holds our reading against go-mssqldb's own reading of the URL that it is given.
func TestDriverReading(t *testing.T) {
	password := `p;w"'/?#%@:[]= é`
	base := `Server=tcp:db1.example.com,1444;Database="a;b/c?";User ID=u@t;Password="p;w""'/?#%@:[]= é"`
	for _, c := range []struct {
		name, more string
		encryption msdsn.Encryption
		skip       bool
		want       map[string]string
	}{
		{"defaults", "", msdsn.EncryptionRequired, false, map[string]string{"app name": "rowrelay", "protocol": "tcp"}},
		{"mandatory", ";Encrypt=Mandatory;Application Name=shop", msdsn.EncryptionRequired, false,
			map[string]string{"app name": "shop"}},
		{"trusted", ";TrustServerCertificate=yes", msdsn.EncryptionRequired, true, nil},
		{"optional", ";Encrypt=False", msdsn.EncryptionOff, false, nil},
		{"strict is verified", ";Encrypt=Strict;TrustServerCertificate=True", msdsn.EncryptionStrict, false, nil},
		{"timeout", ";Connect Timeout=7", msdsn.EncryptionRequired, false, map[string]string{"dial timeout": "7"}},
		{"intent", ";ApplicationIntent=readonly", msdsn.EncryptionRequired, false,
			map[string]string{"applicationintent": "ReadOnly"}},
		{"principal", ";Authentication=active directory SERVICE principal", msdsn.EncryptionRequired, false,
			map[string]string{"fedauth": "ActiveDirectoryServicePrincipal"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := driverReading(t, base+c.more)
			if got.Host != "db1.example.com" || got.Port != 1444 || got.Database != "a;b/c?" || got.User != "u@t" ||
				got.Password != password {
				t.Errorf("got %s %d %s %s", got.Host, got.Port, got.Database, got.User)
			}
			if got.Encryption != c.encryption || got.TLSConfig.InsecureSkipVerify != c.skip {
				t.Errorf("encryption %v, not verified %v", got.Encryption, got.TLSConfig.InsecureSkipVerify)
			}
			if got.ConnTimeout != 0 || got.LogFlags != 0 {
				t.Errorf("timeout %v, log %v", got.ConnTimeout, got.LogFlags)
			}
			for name, want := range c.want {
				if got.Parameters[name] != want {
					t.Errorf("%s is %q, want %q", name, got.Parameters[name], want)
				}
			}
		})
	}
	for _, c := range []struct{ text, host, instance string }{
		{`Server=db1\Inst;Database=d;User ID=u;Password=p`, "db1", "Inst"},
		{`Server=[2001:db8::1];Database=d;User ID=u;Password=p`, "2001:db8::1", ""},
		{`Server=.;Database=d;User ID=u;Password=p`, "localhost", ""},
	} {
		if got := driverReading(t, c.text); got.Host != c.host || got.Instance != c.instance {
			t.Errorf("%s: host %q, instance %q", c.text, got.Host, got.Instance)
		}
	}
}

// driverReading is what the driver reads in the URL that we make of a connection string.
func driverReading(t *testing.T, text string) msdsn.Config {
	t.Helper()
	target, err := parseADO(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.check(); err != nil {
		t.Fatal(err)
	}
	u, err := target.driverURL()
	if err != nil {
		t.Fatal(err)
	}
	got, err := msdsn.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
