package postgres

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/loopback"
)

// Parse reads postgres://user:password@host[:port][,host[:port]…]/database?parameters, with libpq's parameters as pgx
// knows them, libpq's own form and ADO.NET's. Only what a pooler (PgBouncer) lets through is sent at the start of a
// session.
func Parse(text string) (engine.Connection, error) {
	u, query, err := parseForm(text)
	if err != nil {
		return engine.Connection{}, err
	}
	for _, key := range []string{"statement_timeout", "timezone", "TimeZone", "datestyle", "DateStyle",
		"default_transaction_read_only"} {
		if query.Has(key) {
			return engine.Connection{}, fmt.Errorf("the parameter %q is set by Rowrelay itself: remove it", key)
		}
	}
	if u.Host == "" && query.Get("host") == "" {
		return engine.Connection{}, errors.New("it names no host: write postgres://user:password@host:5432/database")
	}
	if strings.Trim(u.Path, "/") == "" && query.Get("dbname") == "" && query.Get("database") == "" {
		return engine.Connection{}, errors.New("it names no database: write postgres://user:password@host:5432/database")
	}
	asked := sslMode(u, query)
	cfg, err := pgx.ParseConfig(u.String())
	if err != nil {
		return engine.Connection{}, flawOf(err, u, query)
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "rowrelay"
	}
	if cfg.ConnectTimeout == 0 { // of each host: one that is silent is not waited for until no time is left for the others
		cfg.ConnectTimeout = 15 * time.Second
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	cfg.RuntimeParams["datestyle"] = "ISO, YMD"
	cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler { return &canceller{conn: conn} }
	pooled := cfg.Copy()
	pooled.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	hosts, local, plain := []string{hostOf(cfg.Host, cfg.Port)}, loopback.Is(cfg.Host), cfg.TLSConfig == nil
	for _, f := range cfg.Fallbacks {
		if h := hostOf(f.Host, f.Port); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
		local, plain = local && loopback.Is(f.Host), plain && f.TLSConfig == nil
	}
	slices.Sort(hosts)
	c := engine.Connection{
		Engine: dsn.Postgres, Dialect: Dialect{},
		Identity: strings.Join(hosts, ",") + "/" + cfg.Database,
		Link:     engine.LinkVerified, Secret: cfg.Password != "",
	}
	var connector driver.Connector = &connector{direct: stdlib.GetConnector(*cfg), pooled: stdlib.GetConnector(*pooled)}
	verified := isVerified(asked, u.Query())
	if verified {
		connector = engine.Verified{Connector: connector, Unverified: "sslmode=require", Plain: "sslmode=disable"}
	}
	c.Connectors = engine.Connectors{Plain: connector, Reading: readingConnector{connector},
		Writing: writingConnector{connector}}
	switch {
	case local:
		c.Link = engine.LinkLocal
		return c, nil
	case verified:
		return c, nil
	case plain:
		c.Link = engine.LinkPlain
		c.Warnings = append(c.Warnings,
			dsn.Unencrypted("sslmode is "+asked, "set sslmode=verify-full, the default, with sslrootcert where the "+
				"authority is not one of the system's"))
		return c, nil
	}
	c.Link = engine.LinkUnverified
	c.Warnings = append(c.Warnings,
		dsn.Unverified("sslmode is "+asked, "set sslmode=verify-full, the default, with sslrootcert where the "+
			"authority is not one of the system's"))
	return c, nil
}

// sslMode completes the URL with the default of sslmode, and returns the mode that is in force: verify-full as soon as
// one of the hosts is another machine, where libpq's own default would take a connection without TLS from whoever
// answers. PGSSLMODE counts as said, as for every program of libpq.
func sslMode(u *url.URL, query url.Values) string {
	mode := query.Get("sslmode")
	if mode == "" {
		mode = os.Getenv("PGSSLMODE")
	}
	local := true
	hosts := u.Host
	if query.Has("host") {
		hosts = query.Get("host")
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		local = local && loopback.Is(strings.Trim(host, "[]"))
	}
	if mode == "" && !local {
		mode = "verify-full"
		completed := u.Query()
		completed.Set("sslmode", mode)
		u.RawQuery = completed.Encode()
	}
	return mode
}

// isVerified: with a root certificate pgx makes of require what libpq does, verify-ca. verify-ca proves the authority,
// not the server's name: with the system's authorities everybody's certificate would do.
func isVerified(mode string, query url.Values) bool {
	root := query.Get("sslrootcert")
	if root == "" {
		root = os.Getenv("PGSSLROOTCERT")
	}
	own := root != "" && root != "system"
	return mode == "verify-full" || own && (mode == "verify-ca" || mode == "require") ||
		root == "system" && mode != "disable"
}

func hostOf(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return host + ":" + strconv.Itoa(int(port))
	}
	host = dsn.Host(host)
	if port != 5432 {
		host += ":" + strconv.Itoa(int(port))
	}
	return host
}

// flawOf says what pgx does not accept without what it quotes: its message repeats the string, and its causes
// may repeat values.
func flawOf(err error, u *url.URL, query url.Values) error {
	mode := query.Get("sslmode")
	if mode != "" && !slices.Contains([]string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"},
		mode) {
		return errors.New("the parameter \"sslmode\" must be disable, allow, prefer, require, verify-ca or verify-full")
	}
	for _, key := range []string{"sslrootcert", "sslcert", "sslkey", "passfile", "servicefile", "service"} {
		if query.Has(key) && strings.Contains(err.Error(), query.Get(key)) && query.Get(key) != "" {
			return fmt.Errorf("the parameter %q names a file or an entry that cannot be read", key)
		}
	}
	for host := range strings.SplitSeq(u.Host, ",") {
		if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
			return errors.New("an IPv6 address stands in brackets: [::1]:5432")
		}
		if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
			if n, err := strconv.ParseUint(host[i+1:], 10, 16); err != nil || n == 0 {
				return errors.New("a port must be a number from 1 to 65535")
			}
		}
	}
	return errors.New("the driver refuses it: check the parameters after the question mark (sslmode, connect_timeout, " +
		"target_session_attrs …)")
}

// parseForm reads a connection string as a URL, whatever its form.
func parseForm(text string) (*url.URL, url.Values, error) {
	lower := strings.ToLower(text)
	if strings.HasPrefix(lower, "postgres://") || strings.HasPrefix(lower, "postgresql://") {
		return dsn.ParseURL(text)
	}
	if dsn.IsLibpq(text) {
		u := urlOf(libpqWords(text))
		return u, u.Query(), nil
	}
	said, err := dsn.Words(text, npgsqlKeywords)
	if err != nil {
		return nil, nil, err
	}
	if mode, ok := said["sslmode"]; ok {
		mode = strings.ToLower(mode)
		if full, ok := strings.CutPrefix(mode, "verify"); ok {
			mode = "verify-" + strings.TrimLeft(full, "- ")
		}
		said["sslmode"] = mode
	}
	u := urlOf(said)
	return u, u.Query(), nil
}

// urlOf is a URL of what another form says.
func urlOf(said map[string]string) *url.URL {
	u := &url.URL{Scheme: "postgres", Path: "/" + said["dbname"]}
	if said["user"] != "" || said["password"] != "" {
		u.User = url.UserPassword(said["user"], said["password"])
		if said["password"] == "" {
			u.User = url.User(said["user"])
		}
	}
	query := url.Values{}
	for word, value := range said {
		switch word {
		case "user", "password", "dbname":
		case "host", "port":
			if strings.Contains(said["host"], "/") { // a socket's directory, which is no host of a URL
				query.Set(word, value)
			}
		default:
			query.Set(word, value)
		}
	}
	if !query.Has("host") {
		u.Host = hostsOf(said["host"], said["port"])
	}
	u.RawQuery = query.Encode()
	return u
}

// hostsOf joins lists of hosts and ports. The last port is that of the hosts after it, too.
func hostsOf(hosts, ports string) string {
	list, port := strings.Split(hosts, ","), strings.Split(ports, ",")
	for i, host := range list {
		list[i] = strings.TrimSpace(host)
		at := strings.TrimSpace(port[min(i, len(port)-1)])
		if _, _, err := net.SplitHostPort(list[i]); err == nil || at == "" || list[i] == "" { // it has its own, or none
			continue
		}
		list[i] = net.JoinHostPort(strings.Trim(list[i], "[]"), at)
	}
	return strings.Join(list, ",")
}

// npgsqlKeywords are Npgsql's, lower case without blanks. What is about .NET's pool and types means nothing here.
var npgsqlKeywords = map[string]string{
	"host": "host server datasource address", "port": "port", "dbname": "database db initialcatalog",
	"user": "username userid user uid", dsn.Password: "password pwd", "passfile": "passfile",
	"sslmode": "sslmode", "sslrootcert": "rootcertificate", "sslcert": "sslcertificate", "sslkey": "sslkey",
	"connect_timeout": "timeout connectiontimeout", "search_path": "searchpath", "options": "options",
	"application_name": "applicationname", "target_session_attrs": "targetsessionattributes", "timezone": "timezone",
	"": "pooling minpoolsize minimumpoolsize maxpoolsize maximumpoolsize connectionlifetime connectionidlelifetime " +
		"connectionpruninginterval commandtimeout internalcommandtimeout cancellationtimeout keepalive tcpkeepalive " +
		"tcpkeepalivetime tcpkeepaliveinterval enlist persistsecurityinfo includeerrordetail logparameters multiplexing " +
		"writecoalescingbufferthresholdbytes noresetonclose loadbalancehosts hostrecheckseconds maxautoprepare " +
		"autoprepareminusages readbuffersize writebuffersize socketreceivebuffersize socketsendbuffersize " +
		"loadtablecomposites arraynullabilitymode trustservercertificate checkcertificaterevocation channelbinding " +
		"servercompatibilitymode encoding clientencoding integratedsecurity includerealm",
}

// libpqWords takes libpq's form apart, which text is known to have. hostaddr is a host that need not be looked up.
func libpqWords(text string) map[string]string {
	said := map[string]string{}
	for rest := strings.TrimSpace(text); rest != ""; {
		key, after, _ := strings.Cut(rest, "=")
		value, tail := libpqValue(strings.TrimLeft(after, " \t\r\n"))
		said[strings.TrimSpace(key)], rest = value, strings.TrimLeft(tail, " \t\r\n")
	}
	if address, ok := said["hostaddr"]; ok {
		if said["host"] == "" {
			said["host"] = address
		}
		delete(said, "hostaddr")
	}
	return said
}

// libpqValue returns the value at the start of s, and what follows it. A backslash takes the next character as it is.
func libpqValue(s string) (value, rest string) {
	quoted := strings.HasPrefix(s, "'")
	if quoted {
		s = s[1:]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case quoted && c == '\'', !quoted && strings.IndexByte(" \t\r\n", c) >= 0:
			return b.String(), s[i+1:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}
