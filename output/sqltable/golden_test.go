package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

var errHeard = errors.New("heard")

// heard is a transaction that keeps the texts of statements.
type heard struct{ texts []string }

func (h *heard) ExecContext(_ context.Context, text string, _ ...any) (sql.Result, error) {
	h.texts = append(h.texts, text)
	return nothing{}, nil
}

func (h *heard) QueryContext(_ context.Context, text string, _ ...any) (*sql.Rows, error) {
	h.texts = append(h.texts, text)
	return nil, errHeard
}

func (h *heard) QueryRowContext(context.Context, string, ...any) *sql.Row { panic("not used") }

type nothing struct{}

func (nothing) LastInsertId() (int64, error) { return 0, nil }
func (nothing) RowsAffected() (int64, error) { return 0, nil }

// TestGoldenStatements pins what each engine is asked to run. That of SQL Server, which no test runs, is read by a
// parser of T-SQL.
func TestGoldenStatements(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"postgres": "postgres://127.0.0.1/shop", "mysql": "mysql://u@127.0.0.1/shop",
		"sqlite": "sqlite:shop.db", "sqlserver": "sqlserver://u:p@127.0.0.1?database=shop"} {
		t.Run(name, func(t *testing.T) {
			c, err := engines.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			o, err := New(Config{Connection: c, Table: "sales.copies", Sender: "shop/orders"})
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close() //nolint:errcheck // nothing was opened
			column := func(name string, kind engine.Kind, param string) engine.Column {
				return engine.Column{Name: name, Value: engine.Value{Kind: kind, Param: param}}
			}
			table := &engine.Table{PrimaryKey: []string{"id"}, Columns: []engine.Column{
				column("id", engine.KindText, ""), column("amount", engine.KindJSON, ""), column("note", engine.KindText, ""),
				column("photo", engine.KindBinary, "")}}
			table.Columns[0].Type, table.Columns[0].Value.Collate = "nvarchar(40)", "Latin1_General_100_BIN2"
			table.Columns[2].Type, table.Columns[2].Value.Collate = "varchar(40)", "SQL_Latin1_General_CP1_CI_AS"
			d := &change.Delivery{Token: 7, Number: 9, Events: []change.Event{
				{ID: "a", Op: change.Upsert, Key: []byte(`{"id":"1"}`),
					Row: []byte(`{"id":"1","amount":1,"note":null,"photo":"AA=="}`)},
				{ID: "b", Op: change.Upsert, Key: []byte(`{"id":"2"}`),
					Row: []byte(`{"id":"2","amount":2,"note":"é","photo":null}`)},
				{ID: "c", Op: change.Delete, Key: []byte(`{"id":"3"}`), Row: []byte(`{"id":"3"}`)},
				{ID: "d", Op: change.Upsert, Key: []byte(`{"id":"4"}`), Row: []byte(`{"id":"4"}`)},
			}}
			rows := map[int]*row{}
			for i := range d.Events {
				if rows[i], err = o.read(table, &d.Events[i]); err != nil {
					t.Fatal(err)
				}
			}
			var h heard
			ids, last := []string{"h1", "h2"}, map[string]int{"h1": 0, "h2": 1}
			if _, err := o.pass(t.Context(), &h, d, ids, last); !errors.Is(err, errHeard) {
				t.Fatal(err)
			}
			if !o.returning {
				h.texts = append(h.texts, o.raising(d, ids, last).String())
			}
			if err := o.apply(t.Context(), &h, rows, []int{0, 1, 2, 3}); err != nil {
				t.Fatal(err)
			}
			all := append([]string{o.DDL()}, h.texts...)
			golden.Pin(t, name+".sql", strings.Join(all, "\n\n")+"\n")
			if name != "sqlserver" {
				return
			}
			for _, text := range all[1:] {
				kinds := map[string]string{"INSERT": "InsertStatement", "SELECT": "SelectStatement", "MERGE": "MergeStatement",
					"DELETE": "DeleteStatement"}
				// The parser knows neither the hint nor VALUES in a MERGE, both of which Microsoft's grammar has there: they are
				// read apart from it.
				if head, rest, ok := strings.Cut(text, " WITH (HOLDLOCK) AS d USING (VALUES "); ok {
					values, rest, _ := strings.Cut(rest, ") AS s (")
					columns, _, _ := strings.Cut(rest, ")")
					tsqltest.Is(t, "SELECT * FROM (VALUES "+values+") AS s ("+columns+")", "SelectStatement")
					text = head + " AS d USING (SELECT 1) AS s (" + rest
				}
				tsqltest.Is(t, text, kinds[strings.Fields(text)[0]])
			}
			tsqltest.Is(t, all[0], "IfStatement")
		})
	}
}
