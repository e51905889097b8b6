// Package source reads changed rows from SQL Server, PostgreSQL, MySQL/MariaDB and SQLite, as change.Events in the
// order of a cursor.
//
// # Cursor mode
//
// A [Cursor] reads one table or query by keyset paging: rows come in the order (cursor…, key…), a page begins after the
// last row of the page before, and no page depends on how many rows there were before it. More rows may share one
// cursor value than fit into a page, because the key continues the order; both may be composite. Nothing is ever
// written to the database, and no transaction stays open between pages.
//
//	conn, err := engines.Parse("postgres://reader@db.example/shop")
//	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Cursor: []string{"updated_at"}}, conn)
//	page, err := src.Fetch(ctx, change.Range{After: nil}, poller.Limit{Rows: 500, Bytes: 8 << 20})
//	page, err = src.Fetch(ctx, page.Events[len(page.Events)-1].Cursor, …)
//
// What a cursor sees is what the table shows: a row that was updated twice between two fetches comes once, a hard
// delete not at all (source__delete_when and source__op=delete are for soft deletes and tombstones), and a row that
// becomes visible below a position already passed is missed: a writer takes its cursor value before it commits.
//
// # Beside paging
//
// Range.UpTo ends a page's range at a position, for sweeps and backfills. [Cursor.Reread] reads rows again by their
// keys, for retries, and [Cursor.Other] finds a row of another order key, to probe a destination with. [Cursor.Count],
// [Cursor.Position], [Cursor.Latest] and [Cursor.Gap] are for operators.
//
// A row that can never be sent (it is larger than max_row_bytes, or a value of it has no lossless form) is an event
// with Broken set, so that nothing after it waits; without a key or cursor of its own it has no place, and the fetch
// fails.
//
// On an idle table a position is held against the engine's own counter, once a minute (gap.go): one that is ahead of it
// is ErrGap, because what comes next would stand below it and never be seen.
//
// # What is proved, and when
//
// Describe reads the catalog and holds the settings against it: every named column exists, the cursor's type can carry
// a position, the key is NOT NULL and unique, every projected type has a lossless form (docs/values.md). What the
// catalog cannot prove (a query's key) the pages prove: two rows with one (cursor, key) end the page before them. A
// catalog is read again after five minutes, and when a statement fails because the schema changed.
//
// The stored cursor holds each value in its JSON form, and every statement casts it to the column's own type: the text
// form is exact (100 ns for datetime2, every digit of a decimal), so that a row at the boundary is equal to itself.
//
// # One round trip
//
// A source keeps its connections, and an idle fetch costs one round trip. On PostgreSQL every statement is a
// transaction of its own, read-only and with its own settings (UTC, ISO dates, timeouts), because a pooler may give the
// connection to other programs in between; all of it is sent at once, and the server process that answers names itself.
// The other engines' sessions are set up once. So Page.Incarnation is that of whoever answered. A fault of the
// connection is retried on a new one, at most three times in all.
//
// # Rooms
//
//	plan      what the settings mean on the table: columns, positions, late commits; asks no database
//	keyset    the statements: pages in the order of cursor and key
//	pool      connections, and how statements are sent: bounded, repeated, explained
//	collect   rows to events
//	tracked   what a change table, or the engine's own tracking, tells beside the rows
//	snapshot  positions and statements of a table that is read by PostgreSQL's snapshots
//	counter   positions that are ahead of what the engine counts
//	timeform  the forms in which times are stored as text
//	spelling  the forms of a table's own rows
//
// This folder reads pages, and looks for what paging cannot show. How pages follow each other is a strategy
// (strategy.go): positions of rows (pages.go, and safe.go below a safe point), changes (tracked.go), or windows between
// snapshots (windows.go).
//
// What differs between engines is in engine.Dialect: the catalog, the rows, the types, the meaning of errors. This
// package knows no engine by name. Golden files pin every statement.
package source
