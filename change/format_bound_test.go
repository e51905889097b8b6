package change_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/change"
)

func TestBoundIsNeverTooSmall(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, f := range formats {
		for _, c := range append(cases(), outboxCases()...) {
			checkBound(t, f, delivery(c.event), true)
			d := delivery(c.event)
			d.Token, d.Number, d.Attempt = math.MaxUint64, math.MaxUint64, math.MaxInt
			d.App, d.Poller, d.Table, d.Engine, d.BatchID, d.Fingerprint = long, long, long, long, long, long
			checkBound(t, f, d, true)
			d.Events[0].Row, d.Events[0].Key, d.Events[0].Cursor = nil, nil, nil
			if o := d.Events[0].Outbox; o != nil {
				d.Events[0].Outbox = &change.Outbox{Payload: o.Payload, JSON: o.JSON, CreatedAt: o.CreatedAt}
			}
			checkBound(t, f, d, true)
		}
	}
}

func checkBound(t *testing.T, f change.Format, d *change.Delivery, tight bool) {
	t.Helper()
	bound, size := f.Bound(d, &d.Events[0]), len(f.AppendBatch(nil, d))
	if size > bound {
		t.Errorf("%s: %d bytes beyond the bound of %d", f, size, bound)
	}
	if tight && bound-size >= 512+3*len(d.App)+3*len(d.Poller) {
		t.Errorf("%s: bound %d is far above %d bytes", f, bound, size)
	}
}

// Whatever the texts are, the encoding is JSON and within its bound.
func FuzzFormats(f *testing.F) {
	f.Add("orders", "shop", "dbo.Orders", "id", int64(0))
	f.Add("a\"\\\x00\xff", "\u2028", "東京", "\x7f\u0085", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, poller, app, table, text string, at int64) {
		quoted := string(change.AppendString(nil, text))
		e := event(change.Op(len(text)%2), `{"k":`+quoted+`}`, `{"v":`+quoted+`}`, `{"kind":"x","value":`+quoted+`}`)
		e.Time = time.Unix(at, at)
		d := delivery(e)
		d.Poller, d.App, d.Table = poller, app, table
		for _, format := range formats {
			for _, body := range [][]byte{format.AppendEvent(nil, d, 0), format.AppendBatch(nil, d)} {
				if !json.Valid(body) {
					t.Errorf("%s is not JSON: %q", format, body)
				}
			}
			checkBound(t, format, d, false)
		}
	})
}

// The same for outbox events: any text may stand in any column, and any bytes in the payload. Only the payload as it
// is, in the single form of that format, need not be JSON. A line is one line.
func FuzzOutboxFormats(f *testing.F) {
	f.Add("Order", "42", "OrderPlaced", "order-placed-42", []byte(`{"total":1}`))
	f.Add("", "", "", "", []byte{})
	f.Add("a%\x00\xff", "\u2028\ufffe", "東京\n", "\u0085\x7f", []byte{0xff, 0})
	f.Add("100%", "\"", "\\", "%%%\x01", []byte("[\n 1,\r\n \"\xff\" ]"))
	f.Fuzz(func(t *testing.T, aggregateType, aggregate, eventType, key string, payload []byte) {
		e := outboxEvent(aggregateType, aggregate, eventType, payload)
		e.ID, e.Outbox.IdempotencyKey, e.Outbox.TraceParent, e.Outbox.TraceState = key, key, eventType, aggregateType
		d := delivery(e)
		for _, format := range formats {
			line := format.AppendLine(nil, d, 0)
			for _, body := range [][]byte{line, format.AppendBatch(nil, d)} {
				if !json.Valid(body) || !utf8.Valid(body) || bytes.ContainsAny(body, "\r\n") {
					t.Errorf("%s is not JSON of one line: %q", format, body)
				}
			}
			checkBound(t, format, d, false)
		}
		if single := change.Payload.AppendEvent(nil, d, 0); !bytes.Equal(single, payload) {
			t.Errorf("the payload %q was sent as %q", payload, single)
		}
	})
}

func BenchmarkFormats(b *testing.B) {
	benchmark(b, "", cases()[0].event)
	benchmark(b, "outbox/", outboxCases()[0].event)
}

func benchmark(b *testing.B, group string, e change.Event) {
	events := make([]change.Event, 100)
	for i := range events {
		events[i] = e
	}
	d := delivery(events...)
	for _, f := range formats {
		b.Run(group+f.String(), func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = f.AppendBatch(buf[:0], d)
			}
			b.SetBytes(int64(len(buf)))
		})
		b.Run(group+f.String()+"/bound", func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for i := range d.Events {
					n += f.Bound(d, &d.Events[i])
				}
			}
			if n == 0 {
				b.Fatal("no bytes")
			}
		})
	}
}

// Encoding into a buffer that is large enough allocates nothing.
func TestFormatsDoNotAllocate(t *testing.T) {
	d := delivery(cases()[0].event, cases()[2].event, cases()[3].event)
	for _, c := range outboxCases() {
		d.Events = append(d.Events, c.event)
	}
	buf := make([]byte, 0, 64<<10)
	for _, f := range formats {
		if n := testing.AllocsPerRun(100, func() { buf = f.AppendBatch(buf[:0], d) }); n != 0 {
			t.Errorf("%s: %v allocations per batch", f, n)
		}
	}
}
