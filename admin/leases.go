package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
)

// Shared is the position of a poller whose changes instances share by leases: rows in its database, no document.
type Shared struct {
	Poller string
	Leases Leases
}

// Leases is what the database tells of it, and lets us change: source.Leases.
type Leases interface {
	Show(ctx context.Context) (engine.LeaseTold, error)
	Reset(ctx context.Context, to int64) (engine.LeaseTold, error)
	Dead(ctx context.Context) ([]source.DeadRow, error)
	Tables(ctx context.Context) (t engine.LeaseTables, from poller.Origin, warnings []string, err error)
	// IsMissing reports whether an error says that the tables are not there yet.
	IsMissing(err error) bool
}

// SharedView is what `state show` tells of it.
type SharedView struct {
	Poller   string `json:"poller"`
	Function string `json:"function"`
	Table    string `json:"leases_table"`
	// Position is LastSyncVersion, Current the database's version, Valid the lowest that changes are complete from.
	Position    int64            `json:"position"`
	Current     int64            `json:"current"`
	Valid       int64            `json:"valid_from"`
	Unprocessed int64            `json:"unprocessed"`
	Leased      int              `json:"leased"`
	Parked      int              `json:"parked"`
	Foreign     int              `json:"foreign_leases"`
	Dead        []source.DeadRow `json:"dead_letters"` // at most 100
}

// View reads it.
func (s *Shared) View(ctx context.Context) (*SharedView, error) {
	tables, _, _, err := s.Leases.Tables(ctx)
	if err != nil {
		return nil, err
	}
	told, err := s.Leases.Show(ctx)
	if err != nil && !s.Leases.IsMissing(err) {
		return nil, err
	}
	if err != nil || !told.Known {
		return nil, fmt.Errorf("%s has no state yet: [az_func].[GlobalState] has no row for the function %s; the first tick makes it",
			s.Poller, tables.Function)
	}
	v := &SharedView{Poller: s.Poller, Function: tables.Function, Table: "[az_func].[" + tables.Leases + "]",
		Position: told.From, Current: told.Head, Valid: told.Valid, Unprocessed: told.Waiting, Leased: told.Leased,
		Parked: told.Parked, Foreign: told.Foreign}
	v.Dead, err = s.Leases.Dead(ctx)
	return v, err
}

// String says it for people.
func (v *SharedView) String() string {
	text := fmt.Sprintf(`function      %s
leases table  %s
position      version %d of %d; changes are retained from %d on
unprocessed   %d, of which %d are leased, and %d failed and are tried again
dead letters  %d`, v.Function, v.Table, v.Position, v.Current, v.Valid, v.Unprocessed, v.Leased, v.Parked, len(v.Dead))
	if v.Foreign > 0 {
		text += fmt.Sprintf("\nsomebody else holds %d leases: the Azure SQL trigger binding runs with this function id", v.Foreign)
	}
	for _, d := range v.Dead {
		text += fmt.Sprintf("\n  %s  version %d, %d attempts: %s", d.Key, d.Version, d.Attempts, d.Reason)
	}
	return text
}

// Reset moves the position. The database refuses it where leases are held, or changes are gone.
func (s *Shared) Reset(ctx context.Context, to string) (*Plan, error) {
	version, what, err := sharedPosition(to)
	if err != nil {
		return nil, err
	}
	told, err := s.Leases.Show(ctx)
	if err != nil {
		return nil, err
	}
	p := &Plan{What: fmt.Sprintf("%s: the shared state moves from version %d to %s; all leases and failed attempts are forgotten, "+
		"dead letters stay", s.Poller, told.From, what)}
	p.apply = func(ctx context.Context, _ *Result) error {
		told, err := s.Leases.Reset(ctx, version)
		switch {
		case err != nil:
			return err
		case told.Held > 0:
			return fmt.Errorf("refused: %d leases are held: stop the instances, and wait until the leases have lapsed", told.Held)
		case told.From < told.Valid || told.From > told.Head:
			return fmt.Errorf("refused: version %d is not among those that are retained, %d to %d", told.From, told.Valid, told.Head)
		}
		return nil
	}
	return p, nil
}

// sharedPosition reads --to: see engine.Leasing.Reset.
func sharedPosition(to string) (version int64, what string, err error) {
	value, isVersion := strings.CutPrefix(to, "cursor=")
	switch {
	case to == "beginning":
		return -1, "the first change that is retained: those from there on are delivered again", nil
	case to == "latest":
		return -2, "the database's own: what lies between is never delivered", nil
	case isVersion:
		version, err = strconv.ParseInt(value, 10, 64)
		if err == nil && version >= 0 {
			return version, "version " + value, nil
		}
	}
	return 0, "", mistake("--to %q: with source__leases it is beginning, latest or cursor=VERSION (the whole table: "+
		"docs/azure-sql-trigger.md#the-whole-table-first)", to)
}
