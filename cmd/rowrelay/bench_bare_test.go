//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/change"
)

// bareLoop is what one would write by hand to post a table: read a page after the last row, encode it, hand the bodies
// to a few goroutines that post. It knows no lease, no checkpoint, no order, no ids by hash and no retries.
type bareLoop struct {
	url         string
	client      *http.Client
	batch, page int
	lanes       int
	read        bareReader
	header      http.Header
}

// bareReader reads the whole table in pages and calls each with the encoded row, its key and its cursor, valid until
// each returns.
type bareReader func(ctx context.Context, page int, each func(row, id, at []byte)) error

func newBareLoop(url string, batch, lanes, page int, read bareReader) *bareLoop {
	return &bareLoop{url: url, batch: batch, lanes: lanes, page: page, read: read,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: lanes}},
		header: http.Header{"Content-Type": {"application/json"}},
	}
}

// likeTheRelay gives the requests headers of the names and sizes of the relay's: the receiver's work is then the same.
func (l *bareLoop) likeTheRelay() {
	hash := strings.Repeat("0", 32)
	h := map[string]string{
		"User-Agent": "rowrelay/dev", "Idempotency-Key": hash + hash, "Rowrelay-Poller": "orders", "Rowrelay-Attempt": "1",
		"Rowrelay-Batch-Id": "batch_20260407_012346_0001", "Rowrelay-Fencing-Token": "1", "Rowrelay-Delivery": "1234",
	}
	if l.batch == 1 {
		maps.Copy(h, map[string]string{
			"Idempotency-Key": hash, "Rowrelay-Event-Id": hash, "Rowrelay-Op": "upsert", "Rowrelay-Key-Hash": hash,
			"Rowrelay-Cursor": `{"kind":"timestamp+pk","value":"2026-04-07T01:23:45Z","tiebreaker":{"id":12345}}`,
		})
	}
	for name, value := range h {
		l.header[name] = []string{value}
	}
}

func (l *bareLoop) drain(b *testing.B, rows int) {
	b.Helper()
	bodies := make(chan []byte, l.lanes)
	errs := make(chan error, l.lanes)
	var wg sync.WaitGroup
	for range l.lanes {
		wg.Go(func() {
			for body := range bodies {
				if err := l.post(b.Context(), body); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	sent, n, size := 0, 0, 0
	var body []byte
	flush := func() {
		if n == 0 {
			return
		}
		if l.batch > 1 {
			body = append(body, ']')
		}
		size = max(size, len(body))
		select {
		case bodies <- body:
		case err := <-errs:
			b.Fatal(err)
		}
		sent, n = sent+n, 0
	}
	err := l.read(b.Context(), l.page, func(row, id, at []byte) {
		switch {
		case n > 0:
			body = append(body, ',')
		case l.batch > 1:
			body = append(make([]byte, 0, size+size/8), '[')
		default:
			body = make([]byte, 0, size+size/8)
		}
		body = appendBareEvent(body, row, id, at)
		if n++; n == l.batch {
			flush()
		}
	})
	flush()
	close(bodies)
	wg.Wait()
	if err != nil || sent != rows {
		b.Fatalf("the bare loop sent %d of %d rows: %v", sent, rows, err)
	}
}

func (l *bareLoop) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = l.header.Clone()
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the receiver answered %s", resp.Status)
	}
	return nil
}

// appendBareEvent writes a CloudEvent of the relay's size: the hashes in it are made up.
func appendBareEvent(dst, row, id, at []byte) []byte {
	const hash = "00000000000000000000000000000000"
	dst = append(dst, `{"specversion":"1.0","type":"rowrelay.row.upsert","source":"/bench/orders","id":"`...)
	dst = append(dst, hash[len(id):]...)
	dst = append(dst, id...)
	dst = append(dst, `","subject":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","time":`...)
	dst = append(dst, at...)
	dst = append(dst, `,"datacontenttype":"application/json","rowrelaypoller":"orders","rowrelaykeyhash":"`+hash+
		`","rowrelaycursor":"{\"kind\":\"timestamp+pk\",\"value\":\"`...)
	dst = append(dst, at[1:len(at)-1]...)
	dst = append(dst, `\",\"tiebreaker\":{\"id\":`...)
	dst = append(dst, id...)
	dst = append(dst, `}}","data":`...)
	dst = append(dst, row...)
	return append(dst, '}')
}

// newBarePostgres reads by pgx itself, in the text format, which spares it parsing what is only written again.
func newBarePostgres(b *testing.B, url string) bareReader {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	return func(ctx context.Context, page int, each func(row, id, at []byte)) error {
		text := fmt.Sprintf(`SELECT id, customer_id, amount, status, note, updated_at FROM orders
			WHERE (updated_at, id) > ($1::timestamptz, $2::bigint) ORDER BY updated_at, id LIMIT %d`, page)
		var row, stamp []byte
		for afterAt, afterID := "-infinity", "0"; ; {
			rows, err := conn.Query(ctx, text, pgx.QueryResultFormats{pgx.TextFormatCode}, afterAt, afterID)
			if err != nil {
				return err
			}
			n := 0
			for ; rows.Next(); n++ {
				v := rows.RawValues()
				at := v[5]
				stamp = append(append(append(append(append(stamp[:0], '"'), at[:10]...), 'T'), at[11:len(at)-3]...), `Z"`...)
				row = append(append(row[:0], `{"id":`...), v[0]...)
				row = append(append(row, `,"customer_id":`...), v[1]...)
				row = append(append(append(row, `,"amount":"`...), v[2]...), `","status":`...)
				row = append(change.AppendString(row, v[3]), `,"note":`...)
				if v[4] == nil {
					row = append(row, "null"...)
				} else {
					row = change.AppendString(row, v[4])
				}
				row = append(append(append(row, `,"updated_at":`...), stamp...), '}')
				each(row, v[0], stamp)
				if n == page-1 {
					afterAt, afterID = string(at), string(v[0])
				}
			}
			if err := rows.Err(); err != nil || n < page {
				return err
			}
		}
	}
}

// newBareSQLite reads by database/sql, with a prepared statement. The + keeps the driver from parsing the time.
func newBareSQLite(b *testing.B, url string) bareReader {
	b.Helper()
	db := benchTable(b, "sqlite", strings.TrimPrefix(url, "sqlite:"))
	return func(ctx context.Context, page int, each func(row, id, at []byte)) error {
		stmt, err := db.PrepareContext(ctx, fmt.Sprintf(`SELECT id, customer_id, amount, status, note, +updated_at FROM orders
			WHERE (updated_at, id) > (?1, ?2) ORDER BY updated_at, id LIMIT %d`, page))
		if err != nil {
			return err
		}
		defer stmt.Close() //nolint:errcheck // nothing is lost with it
		var id, customer int64
		var amount float64
		var status, at string
		var note sql.NullString
		var row, stamp, number []byte
		readPage := func() (n int, err error) {
			rows, err := stmt.QueryContext(ctx, at, id)
			if err != nil {
				return 0, err
			}
			defer rows.Close() //nolint:errcheck // rows.Err is what tells
			for ; rows.Next(); n++ {
				if err := rows.Scan(&id, &customer, &amount, &status, &note, &at); err != nil {
					return n, err
				}
				number = strconv.AppendInt(number[:0], id, 10)
				stamp = append(append(append(stamp[:0], '"'), at...), '"')
				row = append(append(row[:0], `{"id":`...), number...)
				row = strconv.AppendInt(append(row, `,"customer_id":`...), customer, 10)
				row = strconv.AppendFloat(append(row, `,"amount":`...), amount, 'f', -1, 64)
				row = append(change.AppendString(append(row, `,"status":`...), status), `,"note":`...)
				if note.Valid {
					row = change.AppendString(row, note.String)
				} else {
					row = append(row, "null"...)
				}
				row = append(append(append(row, `,"updated_at":`...), stamp...), '}')
				each(row, number, stamp)
			}
			return n, rows.Err()
		}
		for {
			if n, err := readPage(); err != nil || n < page {
				return err
			}
		}
	}
}
