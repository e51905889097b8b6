package claims

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Taken is what Take got.
type Taken struct {
	Survey     // before it
	Token      uint64
	Partitions []int
}

// Take draws a token larger than every token drawn before for this outbox. It claims those partitions that choose
// returns, as far as they are free or the owner's own. choose may be called several times. With join the owner becomes
// a live member, too, so that others leave it a share.
//
// It is one transaction, in which the counter's row is locked: takes come one after the other. So the token is larger
// than those under which former owners of the partitions delivered, as they drew theirs before their claims ended. And
// nobody changes the number of partitions between what choose sees and what is claimed.
//
// Where nothing is live, the number becomes that of the settings.
func (t *Table) Take(ctx context.Context, owner string, ttl time.Duration, join bool,
	choose func(*Survey) []int) (got Taken, err error) {
	err = t.db.Tx(ctx, "claim partitions", func(ctx context.Context, q statement.Querier) error {
		got = Taken{}
		if got.Token, err = t.drawIn(ctx, q); err != nil {
			return err
		}
		if got.Survey, err = t.settled(ctx, q); err != nil || got.Survey.Partitions == 0 {
			return err
		}
		units := unitsOf(choose(&got.Survey))
		if join {
			units = append(units, memberPrefix+owner)
		}
		if len(units) == 0 {
			return nil
		}
		taken, err := t.takeIn(ctx, q, Claim{owner, got.Token, ttl}, units)
		for _, unit := range taken {
			if i, ok := partitionOf(unit); ok {
				got.Partitions = append(got.Partitions, i)
			}
		}
		slices.Sort(got.Partitions)
		return err
	})
	return got, err
}

// settled reads the claims while the counter is locked. It removes dead rows, and stores the number of partitions where
// that may change.
func (t *Table) settled(ctx context.Context, q statement.Querier) (Survey, error) {
	found, err := t.read(ctx, q)
	if err != nil {
		return Survey{}, err
	}
	if len(found.dead)+len(found.fallen) > 0 {
		if err := t.remove(ctx, q, &found); err != nil {
			return Survey{}, err
		}
		if found, err = t.read(ctx, q); err != nil { // what was waited for may have left claims that live
			return Survey{}, err
		}
	}
	if len(found.live) > 0 || found.partitions == t.partitions {
		return found.survey(t.partitions), nil
	}
	return found.survey(t.partitions), t.store(ctx, q, stored{t.partitions})
}

// removeAtOnce bounds how many rows one statement deletes: SQL Server turns 5000 row locks into one lock of the table.
const removeAtOnce = 4_000

// remove deletes dead rows, and what owners hold that have died.
func (t *Table) remove(ctx context.Context, q statement.Querier, found *content) error {
	if units := found.dead; len(units) > 0 {
		s := t.db.Statement()
		t.syntax.ByName(s, t.Place, "DELETE", nil, units[:min(len(units), removeAtOnce)])
		s.Add(" AND c.expires_at <= ", t.db.Now())
		if _, err := s.Exec(ctx, q); err != nil {
			return fmt.Errorf("remove dead rows: %w", err)
		}
	}
	for _, owner := range found.fallen {
		if err := t.releaseIn(ctx, q, owner, nil); err != nil {
			return fmt.Errorf("remove the claims of %s, which has died: %w", owner, err)
		}
	}
	return nil
}

func (t *Table) store(ctx context.Context, q statement.Querier, c stored) error {
	info, err := json.Marshal(c)
	if err != nil {
		return err
	}
	s := t.db.Statement("UPDATE ", t.Place.Table, " SET info = ")
	s.Add(s.Arg(string(info)), " WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '*'")
	if _, err = s.Exec(ctx, q); err != nil {
		return fmt.Errorf("store the number of partitions: %w", err)
	}
	return nil
}
