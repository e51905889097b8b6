package claims

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Survey is what the claims table says at one moment.
type Survey struct {
	Partitions int            // how many there are for all instances; 0: there are claims, and nothing says of which
	Held       map[int]string // partition → owner, of live claims
	Members    []string       // who is live and wants a share, sorted
	Owners     []string       // who holds anything that is live, members included, sorted
}

// Free are the partitions that owner may take: nobody holds them, or owner does by an attempt whose answer was lost.
func (s *Survey) Free(owner string, has []int) []int {
	var free []int
	for i := range s.Partitions {
		if by, held := s.Held[i]; (!held || by == owner) && !slices.Contains(has, i) {
			free = append(free, i)
		}
	}
	return free
}

// Survey reads the claims, without a lock.
func (t *Table) Survey(ctx context.Context) (result Survey, err error) {
	err = t.db.Do(ctx, "survey the claims", func(ctx context.Context, q statement.Querier) error {
		found, err := t.read(ctx, q)
		result = found.survey(t.partitions)
		return err
	})
	return result, err
}

// stored is what the counter's info says.
type stored struct {
	Partitions int `json:"partitions"`
}

// PartitionsIn reads the number of partitions from the counter's info; 0 where nothing of ours wrote it.
func PartitionsIn(info string) int {
	var c stored
	if json.Unmarshal([]byte(info), &c) != nil || c.Partitions < 0 || c.Partitions > Buckets {
		return 0
	}
	return c.Partitions
}

// Counter adds a subquery for the counter's info, which PartitionsIn reads.
func (t *Table) Counter(s *statement.Statement) {
	s.Add("(SELECT n.info FROM ", t.Place.Table, " n WHERE n.outbox = ", s.Arg(t.Place.Outbox), " AND n.unit = '*')")
}

// content is what stands in the claims table.
type content struct {
	partitions int
	live       map[string]string // unit → owner
	dead       []string          // members whose rows nobody needs any more
	foreign    bool              // there are live claims of a kind that only an earlier version knows
	fallen     []string          // owners that have died, whose claims are not in live
}

func (t *Table) read(ctx context.Context, q statement.Querier) (content, error) {
	c := content{live: map[string]string{}}
	fell := map[string]bool{}
	s := t.db.Statement("SELECT unit, owner, info, CASE WHEN expires_at > ", t.db.Now(), " THEN 1 ELSE 0 END FROM ",
		t.Place.Table)
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit NOT IN ('", pauseUnit, "', '", cleanupUnit, "')")
	err := s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var unit, owner string
		var info sql.NullString
		var live int
		if err := scan(&unit, &owner, &info, &live); err != nil {
			return false, err
		}
		_, partition := partitionOf(unit)
		member := strings.HasPrefix(unit, memberPrefix)
		switch {
		case unit == counterUnit:
			c.partitions = PartitionsIn(info.String)
		case live == 1:
			if _, asked := fell[owner]; !asked {
				if fell[owner] = t.fallen(owner); fell[owner] {
					c.fallen = append(c.fallen, owner)
				}
			}
			if !fell[owner] {
				c.live[unit] = owner
				c.foreign = c.foreign || !partition && !member
			}
		case !partition:
			c.dead = append(c.dead, unit)
		}
		return true, nil
	})
	return c, err
}

// survey is the content as sessions see it. While nothing is live, there are as many partitions as the settings want.
// Claims that say nothing of partitions may be of any of them: nobody takes one beside them.
func (c *content) survey(want int) Survey {
	s := Survey{Partitions: want, Held: map[int]string{}}
	switch {
	case c.foreign:
		s.Partitions = 0
	case len(c.live) > 0:
		s.Partitions = c.partitions
	}
	owners := map[string]bool{}
	for unit, owner := range c.live {
		owners[owner] = true
		if i, ok := partitionOf(unit); ok {
			s.Held[i] = owner
		} else if member, ok := strings.CutPrefix(unit, memberPrefix); ok {
			s.Members = append(s.Members, member)
		}
	}
	slices.Sort(s.Members)
	s.Owners = slices.Sorted(maps.Keys(owners))
	return s
}
