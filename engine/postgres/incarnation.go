package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
)

// The incarnation is postgres/system/timeline/database's oid/its name. A name may hold a slash.

// identityParts are the parts of the incarnation. A promotion begins a timeline, which the control file shows only
// once a checkpoint has completed; the name of the file that the log is written to shows it at once. A standby writes
// no log: it shows the timeline that it replays.
var identityParts = []string{
	"(SELECT s.system_identifier::text FROM pg_catalog.pg_control_system() s)",
	`CASE WHEN pg_catalog.pg_is_in_recovery() THEN (SELECT greatest(c.timeline_id, r.min_recovery_end_timeline)::text
		FROM pg_catalog.pg_control_checkpoint() c, pg_catalog.pg_control_recovery() r)
		ELSE ('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint::text END`,
	"(SELECT d.oid::text FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())",
	"pg_catalog.current_database()::text",
}

// checkpointSQL is the timeline of a server that does not let everybody ask where its log is written.
const checkpointSQL = "(SELECT c.timeline_id::text FROM pg_catalog.pg_control_checkpoint() c)"

// findIdentity finds out what of itself the server shows to this role. Some providers, and some roles, may not call
// these functions: then that part of the incarnation is not known.
func (s *session) findIdentity(ctx context.Context) error {
	shown := slices.Clone(identityParts)
	s.identity = "SELECT " + strings.Join(shown, ", ")
	_, err := s.readIdentity(ctx)
	if !noRight(err) {
		return err
	}
	for i, part := range identityParts {
		shown[i] = "NULL"
		choices := []string{part}
		if i == 1 {
			choices = append(choices, checkpointSQL)
		}
		for _, choice := range choices {
			err := s.query(ctx, "SELECT "+choice, nil, nil, nil)
			if err == nil {
				shown[i] = choice
				break
			}
			if !noRight(err) {
				return err
			}
		}
	}
	s.identity = "SELECT " + strings.Join(shown, ", ")
	return nil
}

// readIdentity asks for the incarnation.
func (s *session) readIdentity(ctx context.Context) (incarnation string, err error) {
	var known bool
	err = s.query(ctx, s.identity, nil, nil, func(values [][]byte) (bool, error) {
		incarnation, known = dsn.Postgres, len(values[0]) > 0 || len(values[1]) > 0
		for _, v := range values {
			incarnation += "/" + string(v)
		}
		return true, nil
	})
	if !known {
		incarnation = ""
	}
	return incarnation, err
}

// Related allows for a new timeline, which a failover begins.
func (Dialect) Related(was, is []string) engine.Relation { return engine.RelatedBut(was, is, 2) }
