package publisher

import (
	"crypto/md5" //nolint:gosec // see HashedShard
	"encoding/hex"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"time"
)

// rowsSyntax is how an engine writes what depends on the columns and indexes of a table of `rowrelay outbox init`.
type rowsSyntax interface {
	// seq names the column of the position: MySQL allows no second counting column beside the id, so there it is id.
	seq() string
	// same is that two aggregates, given as expressions of type and id, are one, byte by byte. The first one's are columns of an
	// outbox: an index over them can serve it.
	same(typ1, id1, typ2, id2 string) string
	// shard names the shard of an aggregate, as an expression; shardOf is the same in Go.
	shard(typ, id string) string
	shardOf(typ, id string) string
	// update is UPDATE table AS alias with a join: of rows of `from`, where `where`.
	update(table, alias, set, from, where string) string
	// bySeq begins an UPDATE of rows of the outbox o by their numbers, up to conditions in WHERE. It looks at no other row.
	bySeq(s *statement.Statement, table statement.Name, set func() string, seqs []int64)
	// seek is a condition that makes the index of blocked rows serve a search for an aggregate; "" where the columns do.
	seek(b, id string) string
	// force stands behind a table's alias and names the index to be used ("pending" or "blocked") where the engine's own choice
	// is not to be relied on.
	force(index string) string
	// byState says that the index of pending events leads with the state, so that it serves every state.
	byState() bool
	// orderly is the condition that (bucket, seq) of an alias comes after two expressions,
	// where the bucket is known not to be smaller; "" where the engine does not seek by it.
	orderly(alias, bucket, seq string) string
	// ago is the database's clock less a duration, in whole seconds, rounded up.
	ago(s *statement.Statement, d time.Duration) string
	// ddl returns the statements that create the outbox, with the one that creates the claims table in its place. states are the
	// words of the column state, blocked those of the events which others wait for, or which wait.
	ddl(table statement.Name, claims, states, blocked string) []string
}

// HashedShard names an aggregate by MD5 over its parts as the engine stores them: names of 255 characters each do not
// fit into a key. It tells aggregates apart; it keeps no secret.
func HashedShard(typ, id []byte) string {
	t, i := md5.Sum(typ), md5.Sum(id) //nolint:gosec // not for security: every engine has it
	return claims.AggregatePrefix + hex.EncodeToString(t[:]) + hex.EncodeToString(i[:])
}

// WholeSeconds rounds a duration up.
func WholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// bySeqList is bySeq for engines that do not lock what a statement only looks at.
func bySeqList(s *statement.Statement, seq string, table statement.Name, set func() string, seqs []int64) {
	s.Add("UPDATE ", table.String(), " SET ", set(), " WHERE ")
	s.Add(s.Syntax.AnyInt(s, seq, seqs))
}

// updateFrom is update for engines that have UPDATE … FROM.
func updateFrom(table, alias, set, from, where string) string {
	return "UPDATE " + table + " AS " + alias + " SET " + set + " FROM " + from + " WHERE " + where
}
