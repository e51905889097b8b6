package mysql

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
)

// keywords are those of MySqlConnector and Connector/NET, lower case without blanks. What is about .NET's pool and
// types means nothing here.
func keywords() map[string]string {
	known := map[string]string{}
	for word, keys := range map[string]string{
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
	} {
		for key := range strings.FieldsSeq(keys) {
			known[key] = word
		}
	}
	return known
}

// parseADO reads ADO.NET's form, as the portal shows it.
func parseADO(text string) (engine.Connection, error) {
	said, err := dsn.Words(text, keywords())
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
