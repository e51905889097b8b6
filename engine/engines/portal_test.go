package engines

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// What the portal calls a connection string of PostgreSQL or MySQL is ADO.NET's form: the prefix of its setting names
// the engine. libpq's own form needs no prefix, nor does Npgsql's with Host.
func TestPortalForms(t *testing.T) {
	t.Parallel()
	const pw = `Password='Pl4nted;S3cr3t'`
	for _, c := range []struct {
		name, setting, text, engine, identity string
		link                                  engine.Link
	}{
		{"PostgreSQL, as the portal shows it", "POSTGRESQLCONNSTR_DB",
			"Server=Shop.postgres.database.azure.com;Database=shop;Port=5432;User Id=app;" + pw + ";Ssl Mode=VerifyFull;",
			dsn.Postgres, "shop.postgres.database.azure.com/shop", engine.LinkVerified},
		{"Npgsql, with what is its own", "POSTGRESQLCONNSTR_DB",
			"Host=db1;Port=5433;Username=app;" + pw + ";Database=shop;SSL Mode=Require;Trust Server Certificate=true;" +
				"Pooling=true;Maximum Pool Size=20;Command Timeout=30;Timeout=5;Include Error Detail=true", dsn.Postgres, "db1:5433/shop",
			engine.LinkUnverified},
		{"several hosts", "DB", "Host=b:5433,a;Username=app;" + pw + ";Database=shop;Target Session Attributes=primary",
			dsn.Postgres, "a,b:5433/shop", engine.LinkVerified},
		{"Npgsql without a prefix", "DB", "Host=db1;Username=app;" + pw + ";Database=shop", dsn.Postgres, "db1/shop",
			engine.LinkVerified},
		{"libpq", "DB", `host=db1 port=5433 dbname='my shop' user=app password='Pl4nted \'S3cr3t' sslmode=disable`, dsn.Postgres,
			"db1:5433/my shop", engine.LinkPlain},
		{"libpq, hosts and a socket", "DB", "dbname=shop user=app host=b,a port=5433,5432", dsn.Postgres, "a,b:5433/shop",
			engine.LinkVerified},
		{"libpq, a socket", "DB", "host=/run/postgresql dbname=shop", dsn.Postgres,
			"/run/postgresql:5432/shop", engine.LinkLocal},
		{"MySQL in App", "MYSQLCONNSTR_DB", "Database=localdb;Data Source=127.0.0.1:50249;User Id=azure;" + pw, dsn.MySQL,
			"127.0.0.1:50249/localdb", engine.LinkLocal},
		{"MySQL, as the portal shows it", "MYSQLCONNSTR_DB", `Server="shop.mysql.database.azure.com";UserID = "app";` + pw +
			`;Database="shop";SslMode=VerifyFull`, dsn.MySQL, "shop.mysql.database.azure.com/shop", engine.LinkVerified},
		{"MySqlConnector", "mysqlconnstr_db", "server=db1;port=3307;uid=app;pwd='Pl4nted;S3cr3t';database=shop;SSL Mode=None;" +
			"Allow User Variables=true;Default Command Timeout=60;CharSet=utf8mb4;Connection Timeout=5", dsn.MySQL, "db1:3307/shop",
			engine.LinkPlain},
		{"a URL names its engine itself", "MYSQLCONNSTR_DB", "postgres://app:x@db1/shop", dsn.Postgres, "db1/shop",
			engine.LinkVerified},
		{"SQL Server stays what it was", "SQLCONNSTR_DB", "Server=db1;Database=shop;User ID=sa;" + pw, dsn.SQLServer,
			"db1/shop", engine.LinkVerified},
	} {
		got, err := ParseOf(c.setting, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.Engine != c.engine || got.Identity != c.identity || got.Link != c.link {
			t.Errorf("%s: %s %s %s", c.name, got.Engine, got.Identity, got.Link)
		}
		noSecret(t, got)
	}
}

// Both forms open what the URL opens, on the engines themselves.
func TestPortalFormsConnect(t *testing.T) {
	t.Parallel()
	pg, err := url.Parse(testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	my, err := url.Parse(testenv.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	said := func(format string, u *url.URL) string {
		password, _ := u.User.Password()
		return fmt.Sprintf(format, u.Hostname(), u.Port(), strings.Trim(u.Path, "/"), u.User.Username(), password)
	}
	for _, c := range []struct{ setting, text string }{
		{"POSTGRESQLCONNSTR_DB", said("Server=%s;Port=%s;Database=%s;User Id=%s;Password='%s'", pg)},
		{"DB", said("host=%s port=%s dbname=%s user=%s password='%s'", pg)},
		{"MYSQLCONNSTR_DB", said("Server=%s;Port=%s;Database=%s;Uid=%s;Pwd='%s'", my)},
	} {
		conn, err := ParseOf(c.setting, c.text)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(conn.Connectors.Reading)
		var one int
		if err := db.QueryRowContext(t.Context(), "SELECT 1").Scan(&one); err != nil || one != 1 {
			t.Errorf("%s: %d, %v", c.setting, one, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPortalFormFaults(t *testing.T) {
	t.Parallel()
	const secret = "Pl4nted;S3cr3t"
	for _, c := range []struct{ name, setting, text, want string }{
		{"PostgreSQL, unknown", "POSTGRESQLCONNSTR_DB", "Host=h;Databse=d", `"databse"`},
		{"PostgreSQL, no host", "POSTGRESQLCONNSTR_DB", "Database=d;Username=u", "names no host"},
		{"PostgreSQL, no database", "POSTGRESQLCONNSTR_DB", "Server=h;Username=u", "names no database"},
		{"PostgreSQL, unquoted", "POSTGRESQLCONNSTR_DB", "Server=h;Database=d;Password=" + secret, "must be quoted"},
		{"PostgreSQL, a placeholder", "POSTGRESQLCONNSTR_DB", "Server=h;Database=d;Password={your_password}", "placeholder"},
		{"PostgreSQL, ssl", "POSTGRESQLCONNSTR_DB", "Server=h;Database=d;SSL Mode=S3cr3t", "sslmode"},
		{"PostgreSQL, port", "POSTGRESQLCONNSTR_DB", "Server=h;Database=d;Port=S3cr3t", "port"},
		{"MySQL, synonyms", "MYSQLCONNSTR_DB", "Server=h;Host=h;Database=d", "mean the same"},
		{"MySQL, no host", "MYSQLCONNSTR_DB", "Database=d;Uid=u", "names no host"},
		{"MySQL, unknown", "MYSQLCONNSTR_DB", "Server=h;Database=d;Frob=1", `"frob"`},
		{"MySQL, port", "MYSQLCONNSTR_DB", "Server=h;Database=d;Port=S3cr3t", "port"},
		{"no engine", "DB", "Server=h;SslMode=None;Database=d;Uid=u;Pwd='" + secret + "'", "MYSQLCONNSTR_"},
		{"libpq, no host", "DB", "dbname=d user=u", "names no host"},
		{"libpq, no database", "DB", "host=h user=u", "names no database"},
		{"libpq, set by us", "DB", "host=h dbname=d datestyle=ISO", "by Rowrelay itself"},
	} {
		_, err := ParseOf(c.setting, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "S3cr3t") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestADOForAnotherServer: where nothing in the string tells, it is taken for SQL Server's. What answers then is told.
func TestADOForAnotherServer(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(testing.TB) string{"postgres": testenv.Postgres, "mysql": testenv.MySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := url.Parse(server(t))
			if err != nil {
				t.Fatal(err)
			}
			c, err := ParseOf("DB", "Server="+at.Hostname()+","+at.Port()+";Database=shop;Uid=app;Pwd=x;Encrypt=True")
			if err != nil || c.Engine != dsn.SQLServer {
				t.Fatal(c.Engine, err)
			}
			db := c.DB(1)
			defer func() { _ = db.Close() }()
			if err := db.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), dsn.NamesEngine) {
				t.Error(err)
			}
		})
	}
}
