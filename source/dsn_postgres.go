package source

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
)

// parsePostgres reads postgres://user:password@host[:port][,host[:port]…]/database?parameters, with libpq's parameters
// as pgx knows them. Only what a pooler (PgBouncer) lets through is sent at the start of a session.
func parsePostgres(text string) (Connection, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.User == nil && strayUserinfo(text) {
		return Connection{}, errURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Connection{}, errURL
	}
	for _, key := range []string{"statement_timeout", "timezone", "TimeZone", "datestyle", "DateStyle", "default_transaction_read_only"} {
		if query.Has(key) {
			return Connection{}, fmt.Errorf("the parameter %q is set by Rowrelay itself: remove it", key)
		}
	}
	if u.Host == "" && query.Get("host") == "" {
		return Connection{}, errors.New("it names no host: write postgres://user:password@host:5432/database")
	}
	if strings.Trim(u.Path, "/") == "" && query.Get("dbname") == "" && query.Get("database") == "" {
		return Connection{}, errors.New("it names no database: write postgres://user:password@host:5432/database")
	}
	cfg, err := pgx.ParseConfig(text)
	if err != nil {
		return Connection{}, postgresFault(err, u, query)
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "rowrelay"
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	cfg.RuntimeParams["datestyle"] = "ISO, YMD"
	// Without this an ended context only closes the socket, and the server goes on with the statement.
	cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 2 * time.Second}
	}

	hosts := []string{postgresHost(cfg.Host, cfg.Port)}
	verified, loopback := cfg.TLSConfig != nil && postgresVerified(query), isLoopback(strings.ToLower(cfg.Host))
	for _, f := range cfg.Fallbacks {
		if h := postgresHost(f.Host, f.Port); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
		loopback = loopback && isLoopback(strings.ToLower(f.Host))
	}
	slices.Sort(hosts)
	c := Connection{
		Engine:    enginePostgres,
		Identity:  strings.Join(hosts, ",") + "/" + cfg.Database,
		connector: &postgresConnector{stdlib.GetConnector(*cfg)},
	}
	if !verified && !loopback {
		mode := query.Get("sslmode")
		if mode == "" {
			mode = "prefer, the default"
		}
		c.Warnings = append(c.Warnings, unverified("sslmode is "+mode, "set sslmode=verify-full, with sslrootcert where the "+
			"authority is not one of the system's"))
	}
	return c, nil
}

// postgresConnector hides the configuration, which holds the password, from fmt: pgx's own connector is a struct.
type postgresConnector struct{ driver.Connector }

// postgresVerified: with a root certificate pgx makes of require what libpq does, verify-ca.
func postgresVerified(query url.Values) bool {
	mode := query.Get("sslmode")
	return mode == "verify-full" || mode == "verify-ca" || mode == "require" && query.Get("sslrootcert") != ""
}

func postgresHost(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return host + ":" + strconv.Itoa(int(port))
	}
	host = normalHost(host)
	if port != 5432 {
		host += ":" + strconv.Itoa(int(port))
	}
	return host
}

// postgresFault says what pgx does not accept without what it quotes: its message repeats the string, and its causes
// may repeat values.
func postgresFault(err error, u *url.URL, query url.Values) error {
	mode := query.Get("sslmode")
	if mode != "" && !slices.Contains([]string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}, mode) {
		return errors.New("the parameter \"sslmode\" must be disable, allow, prefer, require, verify-ca or verify-full")
	}
	for _, key := range []string{"sslrootcert", "sslcert", "sslkey", "passfile", "servicefile", "service"} {
		if query.Has(key) && strings.Contains(err.Error(), query.Get(key)) && query.Get(key) != "" {
			return fmt.Errorf("the parameter %q names a file or an entry that cannot be read", key)
		}
	}
	for host := range strings.SplitSeq(u.Host, ",") {
		if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
			if n, err := strconv.ParseUint(host[i+1:], 10, 16); err != nil || n == 0 {
				return errors.New("a port must be a number from 1 to 65535")
			}
		}
	}
	return errors.New("the driver refuses it: check the parameters behind the question mark (sslmode, connect_timeout, " +
		"target_session_attrs …)")
}
