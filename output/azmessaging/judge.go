package azmessaging

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/Azure/go-amqp"

	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// The codes.
const (
	NoCode       Code = iota // no error of the SDK's own
	Unauthorized             // the token was refused
	NotFound                 // there is no such entity
	TooLarge                 // the message is larger than the link takes
)

// verdict is what an error says about an event, and about the link.
type verdict struct {
	output.Result
	lost bool // the link is of no more use
}

// judgeOpening is judge for a link that could not be opened: that says something about the destination, or about the
// way there, and nothing about any event.
func (s *Service[L]) judgeOpening(ctx context.Context, destination string, err error) output.Result {
	r := s.judge(ctx, destination, err).Result
	if r.Cause != poller.Misplaced {
		r.Cause, r.Named = poller.Unavailable, false
	}
	return r
}

// judge turns an error of the SDK into what it says about the event. Only an answer about the message itself refuses
// it. What the service says about the entity makes the event misplaced. That a token was refused is said of one entity
// at a time: where it is the key that is wrong, all are refused, and none can bear witness against another.
func (s *Service[L]) judge(ctx context.Context, destination string, err error) verdict {
	v := s.answer(destination, err)
	if v.Cause == poller.Unavailable && ctx.Err() != nil {
		// Whatever the SDK makes of it: the service may have the message or not. A link on which a message stayed without an
		// answer until the end may be one that never answers.
		return verdict{Result: output.Result{Err: context.Cause(ctx)}, lost: true}
	}
	return v
}

func (s *Service[L]) answer(destination string, err error) verdict {
	code := s.Code(err)
	condition, scope := conditionOf(err)
	v := verdict{lost: scope != ofMessage}
	mend := ""
	switch {
	case code == TooLarge, condition == amqp.ErrCondMessageSizeExceeded && scope == ofMessage:
		v.Cause, v.Named, v.lost = poller.Impossible, true, false
		mend = ": leave columns out with source__columns, or raise the entity's limit"
	case code == NotFound, condition == amqp.ErrCondNotFound:
		v.Cause, v.Named = poller.Misplaced, true
		mend = fmt.Sprintf(": there is no %s %q; create it, or correct output__destination", s.Entity, destination)
	case code == Unauthorized, condition == amqp.ErrCondUnauthorizedAccess:
		v.Cause, v.Named = poller.Misplaced, true
		mend = fmt.Sprintf(": give the identity the role %s on the namespace or on %q, or check the connection string's policy (it needs Send) and key", s.Role, destination)
	case condition == "com.microsoft:server-busy":
		v.RetryAfter = s.Busy
		mend = ": the namespace is throttled; it may need more units"
	case condition == amqp.ErrCondResourceLimitExceeded:
		v.Cause, v.Named = poller.Misplaced, true
		mend = fmt.Sprintf(": %s %q is full; let its receivers catch up, or raise its size", s.Entity, destination)
	case condition == "com.microsoft:entity-disabled":
		v.Cause, v.Named = poller.Misplaced, true
		mend = fmt.Sprintf(": %s %q is disabled for sending; enable it", s.Entity, destination)
	case passing[condition]:
	case scope == ofMessage: // a rejected disposition
		v.Cause, v.Named = poller.Refused, true
	case scope == unknown && condition != "", strings.Contains(err.Error(), "the peer rejected the message"):
		// The SDK hides whether it was the message or the link: what is refused alone will be found out alone.
		v.Cause = poller.Refused
	}
	v.Err = output.Errorf(err, "%s%s", scrub(s.text(err)), mend)
	return v
}

// passing are conditions that say nothing about the message, and pass.
var passing = map[amqp.ErrCond]bool{
	"com.microsoft:timeout":             true,
	"com.microsoft:operation-cancelled": true,
	"com.microsoft:server-error":        true,
	"com.microsoft:partition-not-owned": true,
	amqp.ErrCondInternalError:           true,
	amqp.ErrCondConnectionForced:        true,
	amqp.ErrCondConnectionRedirect:      true,
	amqp.ErrCondDetachForced:            true,
	amqp.ErrCondLinkRedirect:            true,
	amqp.ErrCondTransferLimitExceeded:   true,
	amqp.ErrCondStolen:                  true,
	amqp.ErrCondFramingError:            true,
	amqp.ErrCondResourceLocked:          true,
	amqp.ErrCondErrantLink:              true,
	amqp.ErrCondHandleInUse:             true,
	amqp.ErrCondUnattachedHandle:        true,
	amqp.ErrCondWindowViolation:         true,
}

// scope is what an error of AMQP is about.
type scope uint8

const (
	unknown   scope = iota
	ofLink          // or of its session or connection
	ofMessage       // a rejected disposition, or refused before it was sent
)

// conditionInText finds the condition in the text of an SDK's error, which hides the error of AMQP that it was made
// from.
var conditionInText = regexp.MustCompile(`Condition: ([^\s,}]+)`)

func conditionOf(err error) (amqp.ErrCond, scope) {
	var linkErr *amqp.LinkError
	var sessionErr *amqp.SessionError
	var connErr *amqp.ConnError
	about := unknown
	if errors.As(err, &linkErr) || errors.As(err, &sessionErr) || errors.As(err, &connErr) {
		about = ofLink
	}
	var amqpErr *amqp.Error
	if errors.As(err, &amqpErr) {
		if about == unknown {
			about = ofMessage
		}
		return amqpErr.Condition, about
	}
	if m := conditionInText.FindStringSubmatch(err.Error()); m != nil {
		return amqp.ErrCond(m[1]), about
	}
	return "", about
}

// amqpText is how the AMQP library writes an error.
var amqpText = regexp.MustCompile(`\*Error\{Condition: ([^,]*), Description: (.*), Info: .*\}`)

// text is the error's own text, without what only a program reads.
func (s *Service[L]) text(err error) string {
	text := err.Error()
	if m := amqpText.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s answered %s: %s", s.Name, m[1], m[2])
	}
	return text
}

// secrets are what a text might repeat of a connection string or a token.
var secrets = regexp.MustCompile(`(?i)\b(sig|SharedAccessKey|SharedAccessSignature|Bearer)([= ]+)[^\s;&]+`)

func scrub(text string) string { return secrets.ReplaceAllString(text, "$1$2…") }
