package engines

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
)

// secret is planted as every password: no error and no way of printing a connection may show it, or a piece of it.
const secret = "Pl4nted;S3cr3t"

func TestParseConnection(t *testing.T) {
	t.Parallel()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	portal := "Server=tcp:Shop-SQL.database.windows.net,1433;Initial Catalog=Shop;Persist Security Info=False;" +
		"MultipleActiveResultSets=False;Encrypt=True;TrustServerCertificate=False;Connection Timeout=30;"
	for _, c := range []struct {
		name, text, engine, identity string
		warnings                     int
	}{
		// What the Azure portal shows, in its variants.
		{"portal, SQL login", portal + `User ID=app;Password="` + secret + `";`, "sqlserver",
			"shop-sql.database.windows.net/Shop", 0},
		{"portal, default", portal + `Authentication="Active Directory Default";`, "sqlserver",
			"shop-sql.database.windows.net/Shop", 0},
		{"portal, managed identity", portal + "Authentication=Active Directory Managed Identity;", "sqlserver",
			"shop-sql.database.windows.net/Shop", 0},
		{"user-assigned identity", portal +
			"Authentication=ActiveDirectoryManagedIdentity;User Id=0f0e0d0c-0b0a-0908-0706-050403020100", "sqlserver",
			"shop-sql.database.windows.net/Shop", 0},
		{"MSI", portal + "Authentication=Active Directory MSI", "sqlserver", "shop-sql.database.windows.net/Shop", 0},
		{"service principal", portal + "Authentication=Active Directory Service Principal;UID=app@tenant;PWD='" + secret +
			"'", "sqlserver", "shop-sql.database.windows.net/Shop", 0},
		{"workload identity", portal + "Authentication=Active Directory Workload Identity", "sqlserver",
			"shop-sql.database.windows.net/Shop", 0},
		// Synonyms, spaces, quoting.
		{"data source", `Data Source=db1;Database=shop;UID=sa;PWD="` + secret + `"`, "sqlserver", "db1/shop", 0},
		{"addr", `Addr=db1;Database=shop;User=sa;PWD="` + secret + `"`, "sqlserver", "db1/shop", 0},
		{"network address", ` network  address = db1 ; database = shop ; user id = sa ; password = "` + secret + `" ; `,
			"sqlserver", "db1/shop", 0},
		{"single quotes", `Server=db1;Database='my ''own'' shop';User ID=sa;Password='` + secret + `'`, "sqlserver",
			"db1/my 'own' shop", 0},
		{"double quotes", `Server=db1;Database="a ""b""; c";User ID=sa;Password="` + secret + `"`, "sqlserver",
			`db1/a "b"; c`, 0},
		{"equals in a value", "Server=db1;Database=shop;User ID=sa;Password=a=b==", "sqlserver", "db1/shop", 0},
		{"instance", `Server=DB1\SQLExpress;Database=shop;User ID=sa;Password='` + secret + `'`, "sqlserver",
			`db1\sqlexpress/shop`, 0},
		{"instance and port", `Server=DB1\SQLExpress,14330;Database=shop;User ID=sa;Password='` + secret + `'`, "sqlserver",
			`db1:14330\sqlexpress/shop`, 0},
		{"dot", `Server=.,14333;Database=shop;User ID=sa;Password='` + secret + `';TrustServerCertificate=True`, "sqlserver",
			"localhost:14333/shop", 0},
		{"(local)", `Server=(local);Database=shop;User ID=sa;Password='` + secret + `'`, "sqlserver", "localhost/shop", 0},
		{"trailing dot", `Server=db1.example.com.;Database=shop;User ID=sa;Password='` + secret + `'`, "sqlserver",
			"db1.example.com/shop", 0},
		{"ipv6", `Server=tcp:[2001:DB8::1],1444;Database=shop;User ID=sa;Password='` + secret + `'`, "sqlserver",
			"[2001:db8::1]:1444/shop", 0},
		{"trusted remote", `Server=db1;Database=shop;User ID=sa;Password='` + secret + `';Trust Server Certificate=true`,
			"sqlserver", "db1/shop", 1},
		{"plain remote", `Server=db1;Database=shop;User ID=sa;Password='` + secret + `';Encrypt=Optional`, "sqlserver",
			"db1/shop", 1},
		{"strict", `Server=db1;Database=shop;User ID=sa;Password='` + secret +
			`';Encrypt=Strict;Host Name In Certificate=x.example.com`, "sqlserver", "db1/shop", 0},
		{"read-only intent", `Server=db1;Database=shop;User ID=sa;Password='` + secret + `';ApplicationIntent=ReadOnly`,
			"sqlserver", "db1/shop", 1},
		{"pool keywords", `Server=db1;Database=shop;User ID=sa;Password='` + secret + `';Max Pool Size=5;Command Timeout=9`,
			"sqlserver", "db1/shop", 2},
		{"no Windows login", `Server=db1;Database=shop;User ID=sa;Password='` + secret + `';Integrated Security=False`,
			"sqlserver", "db1/shop", 0},
		// URLs.
		{"url", "sqlserver://sa:Pl4nted%3BS3cr3t@DB1.example.com:1433?database=shop", "sqlserver", "db1.example.com/shop", 0},
		{"url with a port", "sqlserver://sa:Pl4nted%3BS3cr3t@localhost:14333?database=shop&encrypt=disable", "sqlserver",
			"localhost:14333/shop", 0},
		{"url with an instance", "sqlserver://sa:Pl4nted%3BS3cr3t@db1/SQLEXPRESS?database=shop&connection+timeout=5&app+name=x", "sqlserver", `db1\sqlexpress/shop`, 0},
		{"url, fedauth", "sqlserver://db1?database=shop&fedauth=activedirectorymsi", "sqlserver", "db1/shop", 0},
		{"url, user with domain", "sqlserver://app%40tenant:Pl4nted%3BS3cr3t@db1?database=shop&fedauth=ActiveDirectoryServicePrincipal", "sqlserver", "db1/shop", 0},
		{"url, password login", "sqlserver://me%40x.com:Pl4nted%3BS3cr3t@db1?database=shop&fedauth=ActiveDirectoryPassword&applicationclientid=1", "sqlserver", "db1/shop", 0},
		// PostgreSQL.
		{"postgres", "postgres://app:Pl4nted%3BS3cr3t@DB1:5432/shop", "postgres", "db1/shop", 0},
		{"postgresql", "postgresql://app:Pl4nted%3BS3cr3t@db1:6432/shop?sslmode=require", "postgres", "db1:6432/shop", 1},
		{"postgres, verified", "postgres://app:Pl4nted%3BS3cr3t@db1/shop?sslmode=verify-full", "postgres", "db1/shop", 0},
		{"postgres, local", "postgres://app:Pl4nted%3BS3cr3t@127.0.0.1:5433/shop?sslmode=disable", "postgres",
			"127.0.0.1:5433/shop", 0},
		{"postgres, socket", "postgres://app:Pl4nted%3BS3cr3t@/shop?host=/run/postgresql", "postgres",
			"/run/postgresql:5432/shop", 0},
		{"postgres, two hosts", "postgres://app:Pl4nted%3BS3cr3t@db2,db1/shop?sslmode=verify-full&target_session_attrs=read-write", "postgres", "db1,db2/shop", 0},
		// MySQL.
		{"mysql", "mysql://app:Pl4nted%3BS3cr3t@DB1:3306/shop?tls=true", "mysql", "db1/shop", 0},
		{"mysql, unsaid", "mysql://app:Pl4nted%3BS3cr3t@db1:3307/shop", "mysql", "db1:3307/shop", 0},
		{"mysql, azure", "mysql://app:Pl4nted%3BS3cr3t@shop.mysql.database.azure.com/shop", "mysql",
			"shop.mysql.database.azure.com/shop", 0},
		{"mysql, skip-verify", "mysql://app:Pl4nted%3BS3cr3t@db1/shop?tls=skip-verify", "mysql", "db1/shop", 1},
		{"mysql, ssl-mode", "mysql://app:Pl4nted%3BS3cr3t@db1/shop?ssl-mode=VERIFY_IDENTITY", "mysql", "db1/shop", 0},
		{"mysql, local", "mysql://root@127.0.0.1:13306/shop", "mysql", "127.0.0.1:13306/shop", 0},
		{"mysql, socket", "mysql://root@localhost/shop?socket=/run/mysqld/mysqld.sock", "mysql",
			"/run/mysqld/mysqld.sock/shop", 0},
		{"mariadb", "mariadb://app:Pl4nted%3BS3cr3t@db1/shop?tls=true", "mysql", "db1/shop", 0},
		{"mysql, native", "app:" + secret + "@tcp(DB1:3307)/shop?tls=true&parseTime", "", "", 0},
		{"mysql, native", "app:" + secret + "@tcp(DB1:3307)/shop?tls=true", "mysql", "db1:3307/shop", 0},
		{"mysql, native with @ and (", "app:p@(w/" + secret + "@tcp(DB1)/shop?tls=true", "mysql", "db1/shop", 0},
		// SQLite.
		{"sqlite", "sqlite:shop.db", "sqlite", filepath.Join(wd, "shop.db"), 0},
		{"sqlite, dotted", "sqlite:./x/../shop.db", "sqlite", filepath.Join(wd, "shop.db"), 0},
		{"sqlite, absolute", "sqlite:/var/lib/shop.db", "sqlite", "/var/lib/shop.db", 0},
		{"sqlite, url", "sqlite:///var/lib/a%20b?.db", "sqlite", "/var/lib/a%20b?.db", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.text)
			if c.engine == "" {
				if err == nil {
					t.Fatal("it was accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Engine != c.engine || got.Identity != c.identity || len(got.Warnings) != c.warnings {
				t.Errorf("got %s %s %q, want %s %s and %d warnings", got.Engine, got.Identity, got.Warnings, c.engine, c.identity,
					c.warnings)
			}
			noSecret(t, got)
		})
	}
}

// noSecret prints a value in every way that a log or an error might.
func noSecret(t *testing.T, v any) {
	t.Helper()
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "c", v)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "c", v)
	type nested struct{ inner any }
	all := fmt.Sprintf("%v %+v %#v %s %q %x %v %#v", v, v, v, v, v, v, nested{v}, nested{v}) + log.String()
	for _, piece := range []string{"Pl4nted", "S3cr3t", "Pl4nted%3B"} {
		if strings.Contains(all, piece) {
			t.Errorf("a part of the password is shown: %s", all)
		}
	}
}

func TestConnectionFaults(t *testing.T) {
	t.Parallel()
	ado := "Server=db1;Database=shop;User ID=sa;Password='" + secret + "';"
	for _, c := range []struct{ name, text, want string }{
		{"empty", " ", "it is empty"},
		{"key vault", "@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/secrets/x/)", "Key Vault reference"},
		{"jdbc", "jdbc:sqlserver://db1;user=sa;password=" + secret, "JDBC"},
		{"odbc", "Driver={ODBC Driver 18 for SQL Server};Server=db1;PWD=" + secret, "ODBC"},
		{"unknown scheme", "oracle://sa:" + secret + "@db1/shop", "its form is not known"},
		{"mssql scheme", "mssql://sa:" + secret + "@db1/shop", "write sqlserver://"},
		{"no server", "Database=shop;User ID=sa;Password='" + secret + "'", "names no server"},
		{"no database", "Server=db1;User ID=sa;Password='" + secret + "'", "names no database"},
		{"no login", "Server=db1;Database=shop", "names no login"},
		{"placeholder", "Server=db1;Database=shop;User ID=sa;Password={your_password}", "placeholder"},
		{"unknown keyword", "Server=db1;Databse=shop", `"databse"`},
		{"unquoted semicolon", "Server=db1;Database=shop;User ID=sa;Password=" + secret + "=1", "must be quoted"},
		{"unknown scheme with an equals sign", "oracle://sa:" + secret + "@db1/shop?a=b", "must be quoted"},
		{"unquoted semicolon without equals", "Server=db1;Database=shop;User ID=sa;Password=" + secret, "entry 5 has no"},
		{"open quote", `Server=db1;Password="` + secret, "does not end"},
		{"text behind a quote", `Server=db1;Password="a"` + secret, "between a quoted value"},
		{"no keyword", "Server=db1;=" + secret, "no keyword"},
		{"twice", ado + "Server=db2", "stands twice"},
		{"of MySQL", ado + "SslMode=None", `the keyword "sslmode" is one of MySQL's`},
		{"synonyms", ado + "Data Source=db2", "mean the same"},
		{"windows login", "Server=db1;Database=shop;Trusted_Connection=yes", "Windows authentication"},
		{"integrated", "Server=db1;Database=shop;Authentication=Active Directory Integrated", "Windows authentication"},
		{"interactive", "Server=db1;Database=shop;Authentication=Active Directory Interactive", "a person"},
		{"unknown authentication", "Server=db1;Database=shop;Authentication=Magic", "must be Sql Password"},
		{"identity with a password", ado + "Authentication=Active Directory Managed Identity", "has no password"},
		{"principal without secret", "Server=db1;Database=shop;Authentication=Active Directory Service Principal;User ID=x",
			"client secret"},
		{"entra password", ado + "Authentication=Active Directory Password", "applicationclientid"},
		{"encrypt", ado + "Encrypt=perhaps", "must be True, False or Strict"},
		{"trust", ado + "TrustServerCertificate=perhaps", "must be True or False"},
		{"port", "Server=db1,99999;Database=shop;User ID=sa;Password='" + secret + "'", "from 1 to 65535"},
		{"colon port", "Server=db1:1433;Database=shop;User ID=sa;Password='" + secret + "'", "with a comma"},
		{"named pipe", `Server=np:\\db1\pipe\sql;Database=shop`, "only tcp:"},
		{"localdb", `Server=(localdb)\MSSQLLocalDB;Database=shop`, "LocalDB"},
		{"attach", ado + "AttachDbFilename=x.mdf", "attached files"},
		{"always encrypted", ado + "Column Encryption Setting=Enabled", "Always Encrypted"},
		{"timeout", ado + "Connect Timeout=soon", "whole number"},
		{"certificate file", ado + "Server Certificate=/no/such/file.pem", "certificate"},
		{"url with the database as path", "sqlserver://sa:x@db1/shop", "?database="},
		{"url without percent-encoding", "sqlserver://sa:Pl4nted/S3cr3t@db1?database=shop", "percent-encode"},
		{"url with a question mark", "sqlserver://sa:12?S3cr3t=1@db1?database=shop", "percent-encode"},
		{"url with a hash", "sqlserver://sa:1#S3cr3t@db1?database=shop", "percent-encode"},
		{"url with an unknown parameter", "sqlserver://sa:x@db1?database=shop&frob=1", `"frob"`},
		{"postgres without percent-encoding", "postgres://sa:Pl4nted/S3cr3t@db1/shop", "percent-encode"},
		{"postgres without a database", "postgres://sa:Pl4nted%3BS3cr3t@db1", "names no database"},
		{"postgres, IPv6 without brackets", "postgres://sa:Pl4nted%3BS3cr3t@::1:5432/shop", "[::1]:5432"},
		{"postgres without a host", "postgres:///shop", "names no host"},
		{"postgres sslmode", "postgres://sa:Pl4nted%3BS3cr3t@db1/shop?sslmode=S3cr3t", "sslmode"},
		{"postgres root", "postgres://sa:Pl4nted%3BS3cr3t@db1/shop?sslmode=verify-full&sslrootcert=/no/such",
			`"sslrootcert"`},
		{"postgres time zone", "postgres://sa:Pl4nted%3BS3cr3t@db1/shop?timezone=CET", "by Rowrelay itself"},
		{"mysql without percent-encoding", "mysql://sa:Pl4nted/S3cr3t@db1/shop", "percent-encode"},
		{"mysql without a database", "mysql://sa:Pl4nted%3BS3cr3t@db1", "names no database"},
		{"mysql tls", "mysql://sa:Pl4nted%3BS3cr3t@db1/shop?tls=S3cr3t", "must be true"},
		{"mysql parseTime", "mysql://sa:Pl4nted%3BS3cr3t@db1/shop?parseTime=true", "by Rowrelay itself"},
		{"mysql unknown", "mysql://sa:Pl4nted%3BS3cr3t@db1/shop?frob=1", `"frob"`},
		{"mysql port", "mysql://sa:Pl4nted%3BS3cr3t@db1:99999/shop", "from 1 to 65535"},
		{"mysql ca", "mysql://sa:Pl4nted%3BS3cr3t@db1/shop?tls=true&ssl-ca=/no/such", `"ssl-ca"`},
		{"sqlite without a path", "sqlite:", "path of a file"},
		{"sqlite in memory", "sqlite::memory:", "path of a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.text)
			if err == nil {
				t.Fatal("it was accepted")
			}
			if !errors.Is(err, change.ErrConfig) {
				t.Errorf("%v is not a configuration fault", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, which does not say %q", err, c.want)
			}
			noSecret(t, err)
		})
	}
}

// FuzzParseConnection: no string makes it panic, and no password of more than a few letters gets into an error.
func FuzzParseConnection(f *testing.F) {
	f.Add("Server=db1;Database=shop;User ID=sa;Password=", ";Encrypt=1")
	f.Add("postgres://u:", "@h/d")
	f.Add("mysql://u:", "@h/d")
	f.Add("sqlserver://u:", "@h?database=d")
	f.Add("u:", "@tcp(h)/d")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(before)), "sqlite:") {
			return
		}
		c, err := Parse(before + "pl4nteds3cr3t" + after)
		lower := strings.ToLower(before)
		isPassword := strings.HasSuffix(lower, "password=") || strings.HasSuffix(lower, "pwd=") ||
			strings.HasSuffix(lower, "://u:")
		if isPassword && err != nil && strings.Contains(err.Error(), "pl4nteds3cr3t") {
			t.Fatalf("shown: %v", err)
		}
		_ = c
	})
}
