package azmessaging

import (
	"context"
	"time"
)

// Service is one of the services over its SDK; L is an open link to a destination. All members are needed.
type Service[L any] struct {
	// Name and Entity are for people: "Service Bus", "queue or topic". Role is the role that sends.
	Name, Entity, Role string
	// Busy is how long the service asks to be left alone when it is throttled.
	Busy time.Duration
	// Open opens a link; Close ends it.
	Open  func(ctx context.Context, destination string) (L, error)
	Close func(ctx context.Context, l L)
	// Send sends messages of one key, once, as one message of AMQP, and returns when the service has accepted it: the
	// first n of them that have room in it. An error is about these n.
	Send func(ctx context.Context, l L, batch []*Message) (n int, err error)
	// Code reads the SDK's own errors.
	Code func(err error) Code
}

// Message is one event on its way.
type Message struct {
	// ID is the event's id, at most 128 characters. Key is what order is kept by, at most 128 characters; "" for an event
	// that has no aggregate, and so no order.
	ID, Key string
	// Type is the event's type, at most 128 characters.
	Type, ContentType string
	// Properties are the event's attributes: strings.
	Properties map[string]any
	Body       []byte
}

// Code is what an SDK's own error says, where it says it without the error of AMQP beneath.
type Code uint8
