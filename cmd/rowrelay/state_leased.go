package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source"
)

// sharedState is what `state show` tells of changes that instances share by leases.
type sharedState struct {
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

// onLeases does some work on the shared state of a poller; it reports false of a poller that has none.
func (t *target) onLeases(name string, work func(*wired, *source.Leases) error) (is bool, err error) {
	err = t.onApp(func(a *app) error {
		w, err := a.poller(strings.ToLower(name))
		if err != nil || w.Leases == nil {
			return nil //nolint:nilerr // who looks for a document tells it
		}
		is = true
		return work(w, w.Leases)
	})
	return is, err
}

// showLeases shows the shared state of a poller; it reports false of a poller that has none.
func (t *target) showLeases(ctx context.Context, name string) (bool, error) {
	return t.onLeases(name, func(w *wired, l *source.Leases) error {
		tables, _, _, err := l.Tables(ctx)
		if err != nil {
			return err
		}
		told, err := l.Show(ctx)
		if err != nil && !l.IsMissing(err) {
			return err
		}
		if err != nil || !told.Known {
			return fmt.Errorf("%s has no state yet: [az_func].[GlobalState] has no row for the function %s; the first tick makes it",
				w.Config.Name, tables.Function)
		}
		v := sharedState{Poller: w.Config.Name, Function: tables.Function, Table: "[az_func].[" + tables.Leases + "]",
			Position: told.From, Current: told.Head, Valid: told.Valid, Unprocessed: told.Waiting, Leased: told.Leased,
			Parked: told.Parked, Foreign: told.Foreign}
		if v.Dead, err = l.Dead(ctx); err != nil {
			return err
		}
		if t.json {
			encoder := json.NewEncoder(t.out)
			encoder.SetEscapeHTML(false)
			return encoder.Encode(v)
		}
		return t.printLeases(&v)
	})
}

func (t *target) printLeases(v *sharedState) error {
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
	return t.say("%s", text)
}

// resetLeases moves the shared state of a poller; it reports false of a poller that has none.
func (t *target) resetLeases(ctx context.Context, name, to string) (bool, error) {
	return t.onLeases(name, func(w *wired, l *source.Leases) error {
		version, what, err := sharedPosition(to)
		if err != nil {
			return err
		}
		told, err := l.Show(ctx)
		if err != nil {
			return err
		}
		if err := t.say("%s: the shared state moves from version %d to %s; all leases and failed attempts are forgotten, dead letters stay",
			w.Config.Name, told.From, what); err != nil {
			return err
		}
		if t.dryRun {
			return t.idle("dry run: nothing was changed")
		}
		if !t.yes {
			if err := confirm(t.console, w.Config.Name); err != nil {
				return err
			}
		}
		if told, err = l.Reset(ctx, version); err != nil {
			return err
		}
		return refusedReset(&told)
	})
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
	return 0, "", fmt.Errorf("--to %q: with source__leases it is beginning, latest or cursor=VERSION", to)
}

func refusedReset(told *engine.LeaseTold) error {
	switch {
	case told.Held > 0:
		return fmt.Errorf("refused: %d leases are held: stop the instances, and wait until the leases have lapsed", told.Held)
	case told.From < told.Valid || told.From > told.Head:
		return fmt.Errorf("refused: version %d is not among those that are retained, %d to %d", told.From, told.Valid, told.Head)
	}
	return nil
}
