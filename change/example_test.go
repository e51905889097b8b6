package change_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// order is a delivery of one row of a table.
func order() *change.Delivery {
	key := []byte(`{"id":7}`)
	return &change.Delivery{
		App: "shop", Poller: "orders", Engine: "postgres", Table: "public.orders", Fingerprint: "sha256:6f1e0c",
		BatchID: "batch_20260407_012346_0001", Token: 42, Number: 7, Attempt: 1,
		Events: []change.Event{{
			ID: "5c3f2a", Op: change.Upsert, Key: key, OrderKey: key, Row: []byte(`{"id":7,"total":"19.90"}`),
			Cursor: change.Cursor(`{"kind":"integer+pk","value":99,"tiebreaker":{"id":7}}`),
			Time:   time.Date(2026, 4, 7, 1, 23, 45, 0, time.UTC),
		}},
	}
}

// placed is a delivery of one event of an outbox.
func placed() *change.Delivery {
	d := order()
	d.Table = "public.outbox"
	e := &d.Events[0]
	e.ID, e.OrderKey = "order-placed-42", []byte(`{"aggregate_type":"Order","aggregate_id":"42"}`)
	e.Key, e.Cursor = []byte(`{"seq":3}`), change.Cursor(`{"kind":"outbox","seq":3}`)
	e.Outbox = &change.Outbox{
		AggregateType: "Order", AggregateID: "42", EventType: "OrderPlaced", IdempotencyKey: e.ID,
		Payload: []byte(`{"total":19.90}`), JSON: true, CreatedAt: e.Time,
	}
	return d
}

// show prints JSON for people; what is sent has no white space.
func show(body []byte) {
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		fmt.Println(err)
	}
	fmt.Println(out.String())
}

func ExampleFormat_cloudEvents() {
	show(change.CloudEvents.AppendEvent(nil, order(), 0))
	// Output:
	// {
	//   "specversion": "1.0",
	//   "type": "rowrelay.row.upsert",
	//   "source": "/shop/orders",
	//   "id": "5c3f2a",
	//   "subject": "7",
	//   "time": "2026-04-07T01:23:45Z",
	//   "datacontenttype": "application/json",
	//   "rowrelaypoller": "orders",
	//   "rowrelaykeyhash": "a3c90e3b7448d23d9eacebd0ebf15cae",
	//   "rowrelaycursor": "{\"kind\":\"integer+pk\",\"value\":99,\"tiebreaker\":{\"id\":7}}",
	//   "data": {
	//     "id": 7,
	//     "total": "19.90"
	//   }
	// }
}

func ExampleFormat_rowChange() {
	show(change.RowChange.AppendEvent(nil, order(), 0))
	// Output:
	// {
	//   "event_id": "5c3f2a",
	//   "op": "upsert",
	//   "source": {
	//     "name": "public.orders",
	//     "kind": "postgres",
	//     "fingerprint": "sha256:6f1e0c"
	//   },
	//   "cursor": "{\"kind\":\"integer+pk\",\"value\":99,\"tiebreaker\":{\"id\":7}}",
	//   "pk": {
	//     "id": 7
	//   },
	//   "before": null,
	//   "after": {
	//     "id": 7,
	//     "total": "19.90"
	//   },
	//   "metadata": {
	//     "poller": "orders",
	//     "key_hash": "a3c90e3b7448d23d9eacebd0ebf15cae"
	//   }
	// }
}

// The SQL trigger's bindings read an array, also of one event.
func ExampleFormat_sqlTrigger() {
	show(change.SQLTrigger.AppendEvent(nil, order(), 0))
	// Output:
	// [
	//   {
	//     "Operation": 1,
	//     "Item": {
	//       "id": 7,
	//       "total": "19.90"
	//     }
	//   }
	// ]
}

func ExampleFormat_row() {
	show(change.Row.AppendEvent(nil, order(), 0))
	// Output:
	// {
	//   "id": 7,
	//   "total": "19.90"
	// }
}

// A payload is sent byte for byte; what it is travels beside it.
func ExampleFormat_payload() {
	d := placed()
	fmt.Println(string(change.Payload.AppendEvent(nil, d, 0)))
	for _, a := range d.Attributes(nil, &d.Events[0])[:4] {
		fmt.Printf("%s: %s\n", a.Name, a.Value)
	}
	// Output:
	// {"total":19.90}
	// idempotency_key: order-placed-42
	// event_type: OrderPlaced
	// aggregate_type: Order
	// aggregate_id: 42
}

// The batch form is always an array.
func ExampleFormat_AppendBatch() {
	d := order()
	d.Events = append(d.Events, d.Events[0])
	fmt.Println(string(change.Row.AppendBatch(nil, d)))
	fmt.Println(change.Row.ContentType(false))
	// Output:
	// [{"id":7,"total":"19.90"},{"id":7,"total":"19.90"}]
	// application/json
}
