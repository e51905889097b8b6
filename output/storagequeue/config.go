package storagequeue

import (
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/rowrelay/rowrelay/change"
)

// Config is what an Output needs.
type Config struct {
	// Client is the queue's, from output__connection and output__queue. Its retries are not used: see Deliver.
	Client *azqueue.QueueClient
	// Format is output__format.
	Format change.Format
	// Concurrency is how many messages are under way at once, of all deliveries together; 0 means 8.
	Concurrency int
	// Create creates a queue that does not exist: on Azurite, or with state__create=true.
	Create bool
}

// Output implements poller.Output. It is safe for concurrent use.
type Output struct {
	cfg    Config
	name   string        // of the queue
	places chan struct{} // holds one for each message under way
}
