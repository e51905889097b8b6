package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
)

// The incarnation is one of
//
//	mysql/server_uuid
//	mariadb/gtid_domain_id/server_id
//	galera/cluster's state

// incarnationOf is what the server's variables tell. MySQL makes a server_uuid when a data directory is first used.
// MariaDB has none: its server_uid is a hash of the network card and port, which change whenever a container starts
// again. What tells its servers apart is what the replication's settings say; a restore in place does not show.
func incarnationOf(ctx context.Context, conn *sql.Conn, v map[string]string) (incarnation string, err error) {
	switch {
	case v["wsrep_on"] == "ON":
		// Every node of a Galera cluster holds the same data; moving between them is no failover.
		if incarnation, err = galera(ctx, conn); err != nil {
			return "", fmt.Errorf("read the cluster's identity: %w", err)
		}
	case v["server_uuid"] != "":
		incarnation = "mysql/" + v["server_uuid"]
	case v["server_id"] != "":
		incarnation = "mariadb/" + v["gtid_domain_id"] + "/" + v["server_id"]
	}
	return incarnation, nil
}

func galera(ctx context.Context, conn *sql.Conn) (string, error) {
	var name, uuid string
	err := conn.QueryRowContext(ctx, "SHOW STATUS WHERE Variable_name = 'wsrep_cluster_state_uuid'").Scan(&name, &uuid)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return "galera/" + uuid, err
}

// Related allows for what a failover changes: the server_uuid of MySQL, the server_id of MariaDB. Every node of a
// Galera cluster shows the same incarnation.
func (Dialect) Related(was, is []string) engine.Relation {
	switch was[0] {
	case "mysql":
		return engine.RelatedBut(was, is, 1)
	case "mariadb":
		return engine.RelatedBut(was, is, 2)
	case "galera":
		return engine.RelatedBut(was, is, -1)
	}
	return engine.AnotherDatabase
}
