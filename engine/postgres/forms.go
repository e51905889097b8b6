package postgres

import (
	"net"
	"net/url"
	"strings"

	"github.com/rowrelay/rowrelay/engine/dsn"
)

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
	said, err := dsn.Words(text, npgsqlKeywords())
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
func npgsqlKeywords() map[string]string {
	known := map[string]string{}
	for word, keys := range map[string]string{
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
	} {
		for key := range strings.FieldsSeq(keys) {
			known[key] = word
		}
	}
	return known
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
