package change_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
)

// TestSQLTriggerForms: the column types of the Azure SQL trigger's own tests, each as that writes it. It reads a row
// into .NET's values and writes these with Newtonsoft's defaults; a function with a member of type decimal, or int64,
// refuses a text.
func TestSQLTriggerForms(t *testing.T) {
	for _, c := range []struct {
		column string
		form   change.Form
		value  string
		want   string
	}{
		{"int", change.Integer, `999`, `999`},
		{"bigint", change.Integer, `"9223372036854775807"`, `9223372036854775807`},
		{"bit", change.Plain, `true`, `true`},
		{"decimal", change.Decimal, `"1.2345"`, `1.2345`},
		{"decimal(10,0)", change.Decimal, `"-5"`, `-5.0`},
		{"money", change.Decimal, `"1.2300"`, `1.2300`},
		{"numeric", change.Decimal, `"0.5"`, `0.5`},
		{"smallint", change.Integer, `1`, `1`},
		{"smallmoney", change.Decimal, `"214748.3647"`, `214748.3647`},
		{"tinyint", change.Integer, `255`, `255`},
		{"float", change.Float, `0.1`, `0.1`},
		{"float, whole", change.Float, `100`, `100.0`},
		{"float, large", change.Float, `1000000000000000`, `1E+15`},
		{"float, small", change.Float, `0.00001`, `1E-05`},
		{"real", change.Float, `-1.5`, `-1.5`},
		{"date", change.Date, `"2022-10-20"`, `"2022-10-20T00:00:00"`},
		{"datetime", change.Plain, `"2022-10-20T12:39:13.123"`, `"2022-10-20T12:39:13.123"`},
		{"datetime2", change.Plain, `"2022-10-20T12:39:13.1234567"`, `"2022-10-20T12:39:13.1234567"`},
		{"datetimeoffset", change.Plain, `"2022-10-20T12:39:13.1234567+00:00"`, `"2022-10-20T12:39:13.1234567+00:00"`},
		{"smalldatetime", change.Plain, `"2022-10-20T12:39:00"`, `"2022-10-20T12:39:00"`},
		{"time", change.Clock, `"12:39:13.123"`, `"12:39:13.1230000"`},
		{"time, whole", change.Clock, `"12:39:13"`, `"12:39:13"`},
		{"char", change.Plain, `"test"`, `"test"`},
		{"varchar", change.Plain, `"1.0, \"x\"}"`, `"1.0, \"x\"}"`},
		{"nchar", change.Plain, `"\u2649"`, `"\u2649"`},
		{"nvarchar", change.Plain, `"\\"`, `"\\"`},
		{"binary", change.Plain, `"AQIDBA=="`, `"AQIDBA=="`},
		{"varbinary", change.Plain, `null`, `null`},
		{"NULL of a decimal", change.Decimal, `null`, `null`},
		{"NaN, of another engine", change.Float, `"NaN"`, `"NaN"`},
		{"NaN, of another engine", change.Decimal, `"NaN"`, `"NaN"`},
		{"json, of another engine", change.Plain, `{"a":[1,{"b":"}"}]}`, `{"a":[1,{"b":"}"}]}`},
	} {
		object := func(value string) string { return `{"a":1,"c":` + value + `,"z":"2.50"}` }
		members := []change.Member{{Name: `"a":`}, {Name: `"c":`, Form: c.form}, {Name: `"z":`, Form: change.Decimal}}
		e := event(change.Insert, object(c.value), object(c.value), `{}`)
		e.Shape = &change.Shape{Row: members, Key: members}
		item := `{"a":1,"c":` + c.want + `,"z":2.50}`
		if got := string(change.SQLTrigger.AppendBatch(nil, delivery(e))); got != `[{"Operation":0,"Item":`+item+`}]` {
			t.Errorf("%s: %s", c.column, got)
		}
		checkBound(t, change.SQLTrigger, delivery(e), true)
		e.Op = change.Delete
		if got := string(change.SQLTrigger.AppendBatch(nil, delivery(e))); got != `[{"Operation":2,"Item":`+item+`}]` {
			t.Errorf("%s: a delete: %s", c.column, got)
		}
	}
	e := event(change.Update, `{"id":1}`, `{"id":1,"total":"2.50"}`, `{}`)
	e.Shape = &change.Shape{Row: []change.Member{{Name: `"other":`, Form: change.Decimal}}}
	want := `[{"Operation":1,"Item":{"id":1,"total":"2.50"}}]`
	if got := string(change.SQLTrigger.AppendBatch(nil, delivery(e))); got != want {
		t.Errorf("columns that the row has not: %s", got)
	}
}
