package webhook

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rowrelay/rowrelay/change"
)

// payload is an encoded body in buffers that are used again. RoundTrip may return while the transport still reads the
// body (an early answer, a cancelled context): the buffers go back to the pool only after the transport has said that
// it wrote the whole request, and had no reason to write it twice. In every other case they are left to the garbage
// collector.
//
// The body is an io.NopCloser of a *bytes.Reader and not a reader of our own that would know when it is closed, because
// net/http knows that type to be in memory, and sends it in one write with the headers.
type payload struct {
	json   []byte       // what is signed
	packed bytes.Buffer // json compressed, when output__gzip
	wire   []byte       // what is sent: json, or packed's bytes
	wrote  atomic.Bool  // the transport has written the request, and reads it no more
	again  atomic.Bool  // a second reader was asked for: the first may still be read
	// hooks tell when the transport has written the request. They are made once for each payload.
	hooks httptrace.ClientTrace
}

func newPayload() any {
	p := new(payload)
	p.hooks.WroteRequest = func(httptrace.WroteRequestInfo) { p.wrote.Store(true) }
	return p
}

// maxPooled keeps one huge row from staying in memory for ever.
const maxPooled = 4 << 20

var (
	payloads = sync.Pool{New: newPayload}
	packers  = sync.Pool{New: func() any {
		// BestSpeed: the network gains most of what there is to gain, and the tick is not slowed down.
		w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		if err != nil {
			panic(err) // only for a level that does not exist
		}
		return w
	}}
)

// encode returns the body of d.
func (o *Output) encode(d *change.Delivery) (*payload, error) {
	p, _ := payloads.Get().(*payload)
	p.wrote.Store(false)
	p.again.Store(false)
	if o.single {
		p.json = o.format.AppendEvent(p.json[:0], d, 0)
	} else {
		p.json = o.format.AppendBatch(p.json[:0], d)
	}
	p.wire = p.json
	if !o.gzip {
		return p, nil
	}
	p.packed.Reset()
	w, _ := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&p.packed)
	if _, err := w.Write(p.json); err != nil {
		return nil, fmt.Errorf("compressing the request: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing the request: %w", err)
	}
	p.wire = p.packed.Bytes()
	return p, nil
}

// body returns the first reader of the payload.
func (p *payload) body() io.ReadCloser { return io.NopCloser(bytes.NewReader(p.wire)) }

// bodyAgain returns a further reader, for a request that net/http repeats on another connection.
func (p *payload) bodyAgain() (io.ReadCloser, error) {
	p.again.Store(true)
	return p.body(), nil
}

// trace returns ctx with a hook that learns when the request is written.
func (p *payload) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &p.hooks)
}

// unpack takes the compression off an answer's body, where net/http has not done it: it does where it asked for it.
func unpack(resp *http.Response) {
	if resp.Body != http.NoBody && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		resp.Body = &unpacked{ReadCloser: resp.Body}
	}
}

// unpacked is a body that is compressed. It begins when it is read, since most answers are not.
type unpacked struct {
	io.ReadCloser

	plain *gzip.Reader
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	if u.plain == nil {
		var err error
		if u.plain, err = gzip.NewReader(u.ReadCloser); err != nil {
			return 0, err
		}
	}
	return u.plain.Read(p)
}

// release ends the use of the payload after RoundTrip.
func (p *payload) release() {
	if p.wrote.Load() && !p.again.Load() && cap(p.json)+p.packed.Cap() <= maxPooled {
		p.wire = nil
		payloads.Put(p)
	}
}
