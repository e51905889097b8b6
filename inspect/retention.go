package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Retention is how long a poller of change tracking may stand still without losing a change.
type Retention struct {
	For time.Duration // 0 where it is not known
	How string        // what says so, for people; "" where nothing was told
}

// Retention asks the database where its own change tracking keeps the changes.
func (p *Poller) Retention(ctx context.Context) (Retention, error) {
	if p.Engine != "sqlserver" {
		return p.RetentionOf(""), nil
	}
	told, err := p.wired.Source.Retained(ctx)
	return p.RetentionOf(told), err
}

// RetentionOf is that of a database's own words (3 days), which only SQL Server has; else source__track_retention's.
func (p *Poller) RetentionOf(told string) Retention {
	if p.Engine != "sqlserver" {
		what := "deletes"
		if p.Config.Source.EveryChange {
			what = "changes"
		}
		how := "source__track_retention; of " + what + ", where rowrelay track purge runs"
		if most := p.Config.Source.TrackMaxDeletes; most > 0 {
			how += fmt.Sprintf(", and of no more than %d (source__track_max_deletes)", most)
		}
		return Retention{p.Config.Source.TrackRetention, how}
	}
	if told == "" {
		return Retention{}
	}
	r := Retention{How: "CHANGE_RETENTION: " + told}
	var n int
	var unit string
	if _, err := fmt.Sscanf(told, "%d %s", &n, &unit); err == nil && !strings.HasSuffix(unit, ",") {
		r.For = time.Duration(n) * map[string]time.Duration{"days": 24 * time.Hour, "hours": time.Hour,
			"minutes": time.Minute}[unit]
	}
	return r
}
