package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/loopback"
)

// target is what every form of a MySQL connection string say.
type target struct {
	user, password string
	network, addr  string
	host           string // as dialled, for TLS; "" for a socket
	database       string
	query          url.Values
}

// Parse reads any form.
func Parse(text string) (engine.Connection, error) {
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "mysql://"), strings.HasPrefix(lower, "mariadb://"):
		return parseURL(text)
	case dsn.NativeMySQL.MatchString(text):
		return parseNative(text)
	default:
		return parseADO(text)
	}
}

// parseURL reads mysql://user:password@host[:port]/database?parameters; mariadb:// is the same.
func parseURL(text string) (engine.Connection, error) {
	u, query, err := dsn.ParseURL(text)
	if err != nil {
		return engine.Connection{}, err
	}
	t := target{network: "tcp", host: u.Hostname(), query: query}
	if u.User != nil {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	t.database = strings.Trim(u.Path, "/")
	if socket := query.Get("socket"); socket != "" {
		query.Del("socket")
		t.network, t.addr, t.host = "unix", socket, ""
		return t.connection()
	}
	if t.host == "" {
		return engine.Connection{}, errors.New("it names no host: write mysql://user:password@host:3306/database")
	}
	return t.at(u.Port())
}

// at is the connection to a port of the host; "" is MySQL's own.
func (t *target) at(port string) (engine.Connection, error) {
	if port == "" {
		port = "3306"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return engine.Connection{}, errors.New("the port must be a number from 1 to 65535")
	}
	t.addr = net.JoinHostPort(t.host, port)
	return t.connection()
}

// parseNative reads go-sql-driver's own form. The user and the password stand there as they are.
func parseNative(text string) (engine.Connection, error) {
	fault := errors.New("it is not a valid user:password@tcp(host:3306)/database?… string; mysql://user:password@host:3306/database is the plainer form")
	parts := dsn.NativeMySQL.FindStringSubmatch(text)
	t := target{}
	t.user, t.password, _ = strings.Cut(strings.TrimSuffix(parts[1], "@"), ":")
	network, addr := parts[2], parts[3]
	query, err := url.ParseQuery(parts[5])
	if err != nil {
		return engine.Connection{}, fault
	}
	if t.database, err = url.PathUnescape(parts[4]); err != nil {
		return engine.Connection{}, fault
	}
	t.network, t.addr, t.query = network, addr, query
	if network != "unix" {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			host, port = strings.Trim(addr, "[]"), "3306"
		}
		t.host, t.addr = host, net.JoinHostPort(host, port)
	}
	return t.connection()
}

// connection checks the parameters and builds the driver's connector from a struct: no string is put together again.
func (t *target) connection() (engine.Connection, error) {
	if t.database == "" || strings.Contains(t.database, "/") {
		return engine.Connection{}, errors.New("it names no database: write mysql://user:password@host:3306/database")
	}
	if t.addr == "" || t.network != "unix" && t.host == "" {
		return engine.Connection{}, errors.New("it names no host: write mysql://user:password@host:3306/database")
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName = t.user, t.password, t.network, t.addr, t.database
	cfg.Timeout = 15 * time.Second
	cfg.ConnectionAttributes = "program_name:rowrelay"
	cfg.Logger = &mysql.NopLogger{}
	if err := cfg.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return engine.Connection{}, errors.New("the driver does not know utf8mb4")
	}
	// Values are read as the server writes them; what a zoneless TIMESTAMP means is fixed by the session's zone.
	cfg.ParseTime = false
	// Parameters are written into the statement by the driver, which knows the session's escapes: one round trip where
	// preparing takes two, and results in the text protocol.
	cfg.InterpolateParams = true
	mode, rootCA := "", ""
	for key, values := range t.query {
		if len(values) > 1 {
			return engine.Connection{}, fmt.Errorf("the parameter %q stands twice: remove one", key)
		}
		value := values[0]
		var err error
		switch strings.ToLower(key) {
		case "tls", "ssl-mode", "sslmode", "ssl_mode":
			if mode != "" {
				return engine.Connection{}, errors.New("the parameters tls and ssl-mode mean the same: remove one")
			}
			mode, err = tlsMode(value)
		case "ssl-ca", "sslrootcert", "ssl_ca":
			rootCA = value
		case "timeout", "connect_timeout", "connecttimeout":
			cfg.Timeout, err = duration(value)
		case "readtimeout":
			cfg.ReadTimeout, err = duration(value)
		case "writetimeout":
			cfg.WriteTimeout, err = duration(value)
		case "allowcleartextpasswords":
			cfg.AllowCleartextPasswords, err = boolean(value)
		case "allownativepasswords":
			cfg.AllowNativePasswords, err = boolean(value)
		case "maxallowedpacket":
			if cfg.MaxAllowedPacket, err = strconv.Atoi(value); err != nil || cfg.MaxAllowedPacket < 0 {
				err = errors.New("must be a number of bytes")
			}
		case "charset":
			if v := strings.ToLower(value); v != "utf8mb4" && v != "utf8mb4,utf8" {
				err = errors.New("must be utf8mb4, which holds every text: remove it")
			}
		case "parsetime", "loc", "time_zone", "collation", "interpolateparams", "multistatements", "sql_mode", "tx_isolation",
			"transaction_isolation", "max_statement_time", "max_execution_time", "checkconnliveness", "clientfoundrows",
			"columnswithalias", "rejectreadonly", "connectionattributes":
			err = errors.New("is set by Rowrelay itself: remove it")
		default:
			if !dsn.Nameable(strings.ToLower(key)) {
				return engine.Connection{}, dsn.ErrURL
			}
			return engine.Connection{}, fmt.Errorf("the parameter %q is not known: it is misspelt, or must be removed", key)
		}
		if err != nil {
			return engine.Connection{}, fmt.Errorf("the parameter %q %w", key, err)
		}
	}
	link, warnings, err := t.secure(cfg, mode, rootCA)
	if err != nil {
		return engine.Connection{}, err
	}
	plain, err := mysql.NewConnector(cfg)
	if err != nil {
		return engine.Connection{}, errors.New("the driver refuses it: check the host, the port and the parameters")
	}
	var connector driver.Connector = boundConnector{plain, cfg.Timeout}
	if cfg.TLS != nil {
		connector = engine.Verified{Connector: connector, Unverified: "tls=skip-verify", Plain: "tls=false"}
	} else {
		connector = plainConnector{connector}
	}
	prepared := preparedConnector{connector, writeSession}
	return engine.Connection{Engine: dsn.MySQL, Dialect: Dialect{}, Identity: t.identity(), Warnings: warnings, Link: link,
		Secret:     t.password != "",
		Connectors: engine.Connectors{Plain: prepared, Reading: connector, Writing: prepared}}, nil
}

func (t *target) identity() string {
	if t.network == "unix" {
		return t.addr + "/" + t.database
	}
	host := dsn.Host(t.host)
	if _, port, err := net.SplitHostPort(t.addr); err == nil && port != "3306" {
		host += ":" + port
	}
	return host + "/" + t.database
}

// secure sets TLS up. Where the string does not say, other machines are verified, and a connection that stays on this
// machine is plain.
func (t *target) secure(cfg *mysql.Config, mode, rootCA string) (engine.Link, []string, error) {
	local := t.network == "unix" || loopback.Is(t.host)
	switch {
	case mode == "" && local && rootCA == "":
		mode = "false"
	case mode == "":
		mode = "true"
	}
	if rootCA != "" && mode != "true" {
		return "", nil, errors.New("the parameter \"ssl-ca\" needs tls=true")
	}
	if mode == "true" {
		config, err := tlsConfig(t.host, rootCA)
		if err != nil {
			return "", nil, err
		}
		cfg.TLS = config
		if local {
			return engine.LinkLocal, nil, nil
		}
		return engine.LinkVerified, nil, nil
	}
	cfg.TLSConfig = mode
	const remedy = "set tls=true, the default, with ssl-ca where the authority is not one of the system's"
	switch {
	case local:
		return engine.LinkLocal, nil, nil
	case mode == "false":
		return engine.LinkPlain, []string{dsn.Unencrypted("tls=false", remedy)}, nil
	default:
		return engine.LinkUnverified, []string{dsn.Unverified("tls="+mode, remedy)}, nil
	}
}

// tlsConfig proves a server's name by the authorities of a file, or by the system's.
func tlsConfig(host, rootCA string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if rootCA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(rootCA)
	if err != nil {
		return nil, fmt.Errorf("the parameter \"ssl-ca\": %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("the parameter \"ssl-ca\" names a file without a PEM certificate")
	}
	return config, nil
}

// tlsMode reads go-sql-driver's tls and MySQL's ssl-mode as the former. VERIFY_CA is verified in full.
func tlsMode(value string) (string, error) {
	switch strings.ToLower(strings.ReplaceAll(value, "-", "_")) {
	case "true", "verify_ca", "verify_identity", "verify_full":
		return "true", nil
	case "false", "disabled", "disable":
		return "false", nil
	case "preferred", "prefer":
		return "preferred", nil
	case "skip_verify", "required", "require":
		return "skip-verify", nil
	default:
		return "", errors.New("must be true, skip-verify, preferred or false (or an ssl-mode of MySQL)")
	}
}

func duration(value string) (time.Duration, error) {
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, errors.New("must be a duration, as in 15s")
	}
	return d, nil
}

func boolean(value string) (bool, error) {
	on, ok := dsn.Yes(value)
	if !ok {
		return false, errors.New("must be true or false")
	}
	return on, nil
}

// keywords are those of MySqlConnector and Connector/NET, lower case without blanks. What is about .NET's pool and
// types means nothing here.
var keywords = map[string]string{
	"host": "server host datasource address addr networkaddress", "port": "port", "database": "database initialcatalog",
	"user": "userid username user uid", dsn.Password: "password pwd", "ssl-mode": "sslmode",
	"ssl-ca": "sslca cacertificatefile", "connect_timeout": "connectiontimeout connecttimeout",
	"charset": "charset characterset",
	"": "pooling minpoolsize minimumpoolsize maxpoolsize maximumpoolsize connectionlifetime connectionidletimeout " +
		"connectionreset connectionidlepingtime defaultcommandtimeout commandtimeout cancellationtimeout keepalive " +
		"allowuservariables allowpublickeyretrieval allowloadlocalinfile allowzerodatetime convertzerodatetime " +
		"datetimekind treattinyasboolean treatblobsasutf8 guidformat oldguids persistsecurityinfo usecompression " +
		"useaffectedrows autoenlist usexatransactions ignoreprepare ignorecommandtransaction applicationname " +
		"interactivesession pipelining loadbalance nobackslashescapes servercompatibilitymode dnscheckinterval",
}

// parseADO reads ADO.NET's form, as the portal shows it.
func parseADO(text string) (engine.Connection, error) {
	said, err := dsn.Words(text, keywords)
	if err != nil {
		return engine.Connection{}, err
	}
	if said["host"] == "" {
		return engine.Connection{}, errors.New("it names no host: write Server=host;Port=3306;Database=…;User ID=…;Password=…")
	}
	t := target{user: said["user"], password: said[dsn.Password], network: "tcp", host: said["host"],
		database: said["database"], query: url.Values{}}
	port := said["port"]
	if host, inHost, err := net.SplitHostPort(t.host); err == nil && port == "" { // as the portal's MySQL in App
		t.host, port = host, inHost
	}
	for _, word := range []string{"ssl-mode", "ssl-ca", "connect_timeout", "charset"} {
		if value := said[word]; value != "" {
			t.query.Set(word, value)
		}
	}
	switch mode := strings.ToLower(said["ssl-mode"]); mode {
	case "none":
		t.query.Set("ssl-mode", "disabled")
	case "verifyca", "verifyfull":
		t.query.Set("ssl-mode", "verify_full")
	}
	return t.at(port)
}
