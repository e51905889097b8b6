package sqlserver

import (
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/sqlserver/target"
)

// Parse reads sqlserver://… and the ADO.NET form.
func Parse(text string) (engine.Connection, error) {
	t, err := target.Parse(text)
	if err != nil {
		return engine.Connection{}, err
	}
	return connectionTo(t)
}

// IdentityConnection is the connection that the settings X__server, X__database, X__credential and X__clientId
// describe: SQL Server by an identity, without a secret (Functions' convention for identity-based connections).
// credential is managedidentity, with clientID for a user-assigned identity, or empty for the default chain of
// azidentity, which is the developer's own login on a developer's machine.
func IdentityConnection(server, database, credential, clientID string) (engine.Connection, error) {
	t, err := target.ByIdentity(server, database, credential, clientID)
	var c engine.Connection
	if err == nil {
		c, err = connectionTo(t)
	}
	if err != nil {
		return engine.Connection{}, fmt.Errorf("%w: identity connection: %w", change.ErrConfig, err)
	}
	return c, nil
}

func connectionTo(t *target.Target) (engine.Connection, error) {
	connector, err := t.Connector()
	if err != nil {
		return engine.Connection{}, err
	}
	verified := engine.Verified{Connector: newConnector(connector), Unverified: "TrustServerCertificate=True",
		Plain: "Encrypt=False"}
	return engine.Connection{Engine: dsn.SQLServer, Dialect: Dialect{}, Identity: t.Identity(), Link: t.Link(),
		Warnings: t.Warnings(), Secret: t.HasPassword(),
		Connectors: engine.Connectors{Plain: verified, Reading: verified, Writing: verified}}, nil
}
