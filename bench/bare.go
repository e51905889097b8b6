package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // database/sql driver "sqlite"
)

const (
	bareLanes = 8
	barePage  = 500
)

// bareLoop posts the table at BENCH_DB: it reads pages, which is all that it does to a row, and sends bodies of the size
// of Rowrelay's, batch rows in each. The rows are copied into them, so that reading is not for nothing.
func bareLoop(ctx context.Context, url string, batch int) error {
	pattern, err := fetchSample(ctx, url)
	if err != nil {
		return err
	}
	size := len(pattern.Body) / max(bytes.Count(pattern.Body, firstMember), 1)
	pattern.Header.Del("Content-Length")
	pattern.Header.Del("Accept-Encoding")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: bareLanes, WriteBufferSize: 128 << 10}}
	bodies := make(chan []byte, bareLanes)
	group, ctx := errgroup.WithContext(ctx)
	for range bareLanes {
		group.Go(func() error {
			for body := range bodies {
				if err := post(ctx, client, url, pattern.Header, body); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(bodies)
		filler := bytes.Repeat([]byte(" "), size)
		var body []byte
		n := 0
		flush := func() error {
			if n == 0 {
				return nil
			}
			select {
			case bodies <- append(body, ']'):
			case <-ctx.Done():
				return ctx.Err()
			}
			n = 0
			return nil
		}
		err := readTable(ctx, func(values [][]byte) error {
			if n == 0 {
				body = append(make([]byte, 0, batch*(size+64)), '[')
			}
			begin := len(body)
			body = append(append(body, firstMember...), values[0]...)
			for _, v := range values[1:] {
				body = append(append(append(body, `,"":"`...), v...), '"')
			}
			if left := size - (len(body) - begin); left > 0 {
				body = append(body, filler[:left]...)
			}
			if n++; n == batch {
				return flush()
			}
			return nil
		})
		return errors.Join(err, flush())
	})
	return group.Wait()
}

func fetchSample(ctx context.Context, url string) (s sample, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/sample", nil)
	if err != nil {
		return s, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return s, err
	}
	defer func() { _ = answer.Body.Close() }()
	return s, json.NewDecoder(answer.Body).Decode(&s)
}

func post(ctx context.Context, client *http.Client, url string, header http.Header, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header.Clone()
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return errors.New(answer.Status)
	}
	return nil
}

// readTable reads the table in pages by its cursor and key; the values are valid until each returns.
func readTable(ctx context.Context, each func(values [][]byte) error) error {
	url := os.Getenv("BENCH_DB")
	if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
		return readSQLite(ctx, file, each)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	text := fmt.Sprintf(`SELECT o.*, o.updated_at FROM orders o WHERE (updated_at, id) > ($1::timestamptz, $2::bigint)
		ORDER BY updated_at, id LIMIT %d`, barePage)
	for at, id := "-infinity", "0"; ; {
		rows, err := conn.Query(ctx, text, pgx.QueryResultFormats{pgx.TextFormatCode}, at, id)
		if err != nil {
			return err
		}
		n := 0
		for ; rows.Next(); n++ {
			values := rows.RawValues()
			if n == barePage-1 {
				at, id = string(values[len(values)-1]), string(values[0])
			}
			if err := each(values[:len(values)-1]); err != nil {
				rows.Close()
				return err
			}
		}
		if err := rows.Err(); err != nil || n < barePage {
			return err
		}
	}
}

// readSQLite reads every column as it is stored: the + keeps the driver from parsing the time.
func readSQLite(ctx context.Context, file string, each func(values [][]byte) error) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	stmt, err := db.PrepareContext(ctx, fmt.Sprintf(`SELECT id, customer_id, amount, status, note, +updated_at FROM orders
		WHERE (updated_at, id) > (?1, ?2) ORDER BY updated_at, id LIMIT %d`, barePage))
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	values := make([]sql.RawBytes, 6)
	into, bytes := make([]any, len(values)), make([][]byte, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	for at, id := "", "0"; ; {
		rows, err := stmt.QueryContext(ctx, at, id)
		if err != nil {
			return err
		}
		n := 0
		for ; err == nil && rows.Next(); n++ {
			if err = rows.Scan(into...); err != nil {
				break
			}
			for i, v := range values {
				bytes[i] = v
			}
			if n == barePage-1 {
				at, id = string(values[5]), string(values[0])
			}
			err = each(bytes)
		}
		if err = errors.Join(err, rows.Err(), rows.Close()); err != nil || n < barePage {
			return err
		}
	}
}
