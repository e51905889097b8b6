package rabbitmq

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// Config is what an Output needs.
type Config struct {
	// URL is what output__connection names: amqp://user:password@host:5672/vhost, or amqps:// for TLS, whose certificate
	// is verified against the system's authorities or those of ?cacertfile=.
	URL string
	// Destinations are output__destination and output__destinations__<event_type>.
	Destinations output.Destinations
	// Format is output__format.
	Format change.Format
	// Concurrency is how many deliveries may be under way at once, each on a channel of its own: at most 1000; 0 means 8.
	Concurrency int
	// Create declares what is missing: a durable topic exchange, or a durable queue where the destination is one. Queues
	// are not bound to exchanges: that is the consumers' business.
	Create bool
	// MaxMessage is the most bytes of one message's body; 0 means 128 MiB. Where the broker's max_message_size is less,
	// that holds as soon as the broker has said so.
	MaxMessage int
	// Version goes into the connection's properties.
	Version string
}

// Output implements poller.Output. It is safe for concurrent use.
type Output struct {
	cfg    Config
	broker string        // host:port, for people
	dial   time.Duration // bounds connecting
	places chan struct{} // holds one for each delivery under way
	limit  atomic.Int64  // of a body, in bytes

	mu      sync.Mutex
	link    *link    // the connection; nil or closed: the next Deliver opens one
	dialing *dialing // nil while nobody opens one
	closed  bool
}

// result is what became of one event: accepted, or not and why. The zero value is an event that was not tried.
type result struct {
	accepted bool
	cause    poller.Cause
	err      error
}

// route is where an event goes.
type route struct{ exchange, key string }

// maxShort is the most bytes of a short string of AMQP, which names, keys and properties are. The library would cut a
// longer one without a word.
const maxShort = 255

// closeTimeout bounds the wait for an answer to a close: then the connection is reset.
const closeTimeout = 5 * time.Second

// link is one connection with its channels.
type link struct {
	o    *Output
	conn *amqp.Connection
	pipe *pipe

	mu      sync.Mutex
	idle    []*lane
	proven  map[route]struct{} // exchanges, and with Create queues, that were there
	avoided []avoided          // what the user must not write to, lately
	blocked string             // why the broker reads from no publisher; "" while it does
	doubts  int                // channels of unconfirmed messages that are being closed
	clear   chan struct{}      // closed when doubts becomes 0; nil while it is
}

// lane is a channel in confirm mode, used by one delivery at a time.
type lane struct {
	link    *link
	ch      *amqp.Channel
	returns chan amqp.Return
	closes  chan *amqp.Error

	// Reused from event to event: the library has copied them when a publish returns.
	body       []byte
	attributes []change.Attribute
	headers    amqp.Table
	confirms   []*amqp.DeferredConfirmation // of the events, by index; nil: not published
	events     []int                        // the events that were published, by index, in order
	first      int64                        // the number on the channel of the first of them
	end        int64                        // of what was published, in the pipe
}

// dialing is an attempt to connect that several deliveries may wait for.
type dialing struct {
	done chan struct{}
	link *link
	err  error
}

// avoided is a place that the user must not write to.
type avoided struct {
	reason string // of the broker
	err    error
	until  time.Time
}

var errClosed = errors.New("the output is closed")

// defaultMaxMessage is RabbitMQ's own max_message_size, 3.8 to 3.13. RabbitMQ 4 takes 16 MiB unless told otherwise.
const defaultMaxMessage = 128 << 20
