package statement

// Outbox is what the outboxes of engines share: PostgreSQL's and SQLite's all of it, SQL Server's partial indexes, and
// that of MySQL, which has none, the little that is left.
type Outbox struct{}

// Seq is seq: the identity column, the rowid by another name.
func (Outbox) Seq() string { return "seq" }

// Same is plain equality: it compares byte by byte under PostgreSQL's deterministic collations and SQLite's BINARY.
func (Outbox) Same(typ1, id1, typ2, id2 string) string {
	return typ1 + " = " + typ2 + " AND " + id1 + " = " + id2
}

// Update writes UPDATE … SET … FROM … WHERE.
func (Outbox) Update(table, alias, set, from, where string) string {
	return "UPDATE " + table + " AS " + alias + " SET " + set + " FROM " + from + " WHERE " + where
}

// BySeq takes the numbers as one list: PostgreSQL, MySQL and SQLite lock none but the rows that it finds.
func (Outbox) BySeq(s *Statement, table Name, column string, set func() string, seqs []int64) {
	s.Add("UPDATE ", table.String(), " SET ", set(), " WHERE ")
	s.Add(s.Syntax.AnyInt(s, column, seqs))
}

// Seek is empty: the index of blocked rows holds type and id themselves.
func (Outbox) Seek(_, _ string) (condition, order string) { return "", "" }

// Force is empty: PostgreSQL has no hints, and the others' own choice of index is relied on.
func (Outbox) Force(string) string { return "" }

// ByState is false: the index of pending events is partial and serves that state only.
func (Outbox) ByState() bool { return false }

// Limit is the column: the driver reads it as a time.
func (Outbox) Limit(expr string) string { return expr }
