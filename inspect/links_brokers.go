//go:build !small

package inspect

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/kafka"
)

// entraBrokers are the names of Event Hubs, which know identities, in Azure's clouds.
var entraBrokers = []string{".servicebus.windows.net", ".servicebus.usgovcloudapi.net", ".servicebus.chinacloudapi.cn"}

// readBroker reads where a connection string leads; false where it cannot be read.
func readBroker(l *Link, kind, text string) bool {
	if kind != "kafka" {
		c, err := azmessaging.ParseConnection(text)
		if err != nil {
			return false
		}
		host, _, _ := strings.Cut(c.Namespace, ":")
		rate(l, host, !c.Emulator, "UseDevelopmentEmulator=true, which is AMQP without TLS",
			"use the namespace's own connection string")
		return true
	}
	c, err := kafka.ParseConnection(text)
	if err != nil {
		return false
	}
	l.Host, l.Entra = strings.Join(c.Brokers, ","), isIn(c.Brokers[0], entraBrokers)
	switch {
	case c.Local():
		l.Safety = engine.LinkLocal
	case !c.TLS:
		l.Safety, l.How, l.Mend = engine.LinkPlain, "tls=false", "remove tls=false: TLS is the default to another machine"
	}
	return true
}
