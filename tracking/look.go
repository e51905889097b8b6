package tracking

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Status is what there is of a change table.
type Status struct {
	// Table is the user's table, Changes the change table's name; "" where the engine tracks changes by itself.
	Table   string `json:"table"`
	Changes string `json:"changes,omitempty"`
	// Installed says that there is a change table, or that the engine tracks changes of this one. Faults says what keeps
	// it from being right, each in a sentence.
	Installed bool     `json:"installed"`
	Faults    []string `json:"faults,omitempty"`
	// Unseen says which writes to the table no trigger sees.
	Unseen []string `json:"unseen,omitempty"`
	// Outdated says that an older version installed it, and what to do; "" where it did not.
	Outdated string `json:"outdated,omitempty"`
	// Every says that the change table keeps every change. Rows counts these then, otherwise its keys, and Deleted the
	// deletes among them: keys whose row is gone.
	Every   bool  `json:"every,omitempty"`
	Rows    int64 `json:"rows"`
	Deleted int64 `json:"deleted"`
	// Floor is the version up to which changes may be missing; Oldest and Newest are those of the rows, "" for none.
	Floor  string `json:"floor"`
	Oldest string `json:"oldest,omitempty"`
	Newest string `json:"newest,omitempty"`
	// Retained is for how long an engine that tracks changes by itself keeps them.
	Retained string `json:"retained,omitempty"`
}

// Look reads the status. It counts rows: on a large table that takes its time.
func Look(ctx context.Context, to engine.Connection, table, name, whose string, writes Writes) (s Status, err error) {
	return s, ask(ctx, to, func(conn *sql.Conn) error {
		s, err = look(ctx, to.Dialect, conn, table, name, whose, writes)
		return err
	})
}

func look(ctx context.Context, d engine.Dialect, conn *sql.Conn, table, name, whose string, writes Writes) (s Status,
	err error) {
	f, err := find(ctx, d, conn, table, name, whose, writes.kind(), Of)
	if err != nil {
		return s, err
	}
	syntax := d.Syntax()
	s = Status{Table: f.table.Name, Changes: f.changes.Name, Every: f.changes.History != nil, Installed: f.own != nil,
		Faults: f.faults}
	if s.Unseen, err = syntax.Tracking.Unseen(ctx, conn, f.changes); err != nil {
		return s, fmt.Errorf("read what the triggers do not see: %w", err)
	}
	if f.own == nil {
		return s, nil
	}
	if len(f.renew) > 0 {
		s.Outdated = Outdated(f.changes)
	}
	if b := syntax.Tracking.BuiltIn; b != nil {
		if s.Retained, err = b.Retained(ctx, conn); err != nil {
			return s, err
		}
	}
	if f.changes.History != nil {
		if err := f.fits(d); err != nil {
			s.Faults = append(s.Faults, poller.NameDocument(err, whose).Error())
			return s, nil
		}
		return s, s.countHistory(ctx, conn, &syntax, f.changes)
	}
	joined, err := Join(d, &f.table, f.own, f.changes)
	if err != nil {
		s.Faults = append(s.Faults, poller.NameDocument(err, whose).Error())
		return s, nil
	}
	return s, s.count(ctx, conn, &syntax, &joined)
}

// count reads what the rows tell.
func (s *Status) count(ctx context.Context, conn *sql.Conn, syntax *engine.Syntax, joined *engine.Table) error {
	version := "r." + syntax.Quote(engine.ChangeVersion)
	floor, oldest, newest := "("+Floor(syntax, joined.Changes)+")", "MIN("+version+")", "MAX("+version+")"
	// PostgreSQL before 16 has no MIN and MAX of xid8.
	if syntax.Tracking.Snapshots {
		oldest, newest = "MIN("+version+"::text::numeric)::text",
			"MAX("+version+"::text::numeric)::text"
	}
	var low, high, at sql.NullString
	text := "SELECT COUNT(*), COUNT(*) - COUNT(r." + syntax.Quote(engine.ChangePresent) + "), " + oldest + ", " + newest +
		", " + floor + " FROM " + joined.Changes.Rows + " AS r"
	err := conn.QueryRowContext(ctx, text).Scan(&s.Rows, &s.Deleted, &low, &high, &at)
	if err != nil {
		return fmt.Errorf("count the changes: %w", err)
	}
	s.Oldest, s.Newest, s.Floor = low.String, high.String, at.String
	if !at.Valid {
		s.Faults = append(s.Faults, "its state has no row")
		return nil
	}
	if syntax.Tracking.Snapshots {
		floor, purged, err := ParseFloor(at.String)
		s.Floor = strconv.FormatUint(max(floor, purged), 10)
		return err
	}
	return nil
}
