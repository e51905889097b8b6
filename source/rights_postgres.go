package source

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

func postgresRightsOf(ctx context.Context, db *sql.DB, table string) (r Rights, err error) {
	var super, creates, replicates, bypasses, owner, schema, database bool
	var all bool // the cluster's autovacuum
	var roles sql.NullString
	var writes, options string
	err = db.QueryRowContext(ctx, postgresRights, table).Scan(&r.Login, &super, &creates, &replicates, &bypasses, &owner, &schema, &database,
		&roles, &writes, &r.Standbys, &r.Commits, &all, &options)
	if err != nil {
		return r, err
	}
	r.Admin = named(super, "superuser", creates, "CREATEDB or CREATEROLE", replicates, "REPLICATION", bypasses, "BYPASSRLS",
		owner, "the owner of the table", schema, "the owner of the table's schema", database, "the owner of the database",
		roles.Valid, "a member of "+roles.String)
	r.Writes = strings.Fields(writes)
	r.Vacuums = options
	r.Autovacuum = all && r.vacuumed()
	return r, nil
}

// vacuumed says whether the table lets autovacuum clean it. What cannot be read counts as no.
func (r *Rights) vacuumed() bool {
	text, set := r.vacuum("enabled")
	return !set || postgresBool(text)
}

// VacuumNumber returns a number of the table's own settings for autovacuum, autovacuum_vacuum_… without that beginning. It is
// not ok where the table does not set it, or sets what is no number.
func (r *Rights) VacuumNumber(name string) (n float64, ok bool) {
	text, _ := r.vacuum("vacuum_" + name)
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil
}

// vacuum returns what the table says of autovacuum_name: PostgreSQL keeps the text as it was written.
func (r *Rights) vacuum(name string) (text string, set bool) {
	for option := range strings.SplitSeq(r.Vacuums, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(option), "=")
		if key == "autovacuum_"+name {
			return value, true
		}
	}
	return "", false
}

// postgresBool reads a boolean of a table's settings as PostgreSQL does: a word or a beginning of it that tells which, or a digit.
func postgresBool(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return slices.Contains([]string{"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"}, text)
}
