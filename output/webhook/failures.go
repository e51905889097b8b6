package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// failedItems decodes a JSON answer and returns the indices, in events, of those that it says failed. The value is
// false where it may also mean another one: a name that is the id of one event and the index of another stands for
// both, unless the answer's other names show which it uses. An empty body, null, JSON of another shape and an
// object without batchItemFailures name none. It fails where the answer is not JSON or cannot be understood.
func failedItems(body []byte, events []change.Event) (map[int]bool, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff")) // RFC 8259, 8.1
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	if !json.Valid(body) {
		return nil, errors.New("its body says it is JSON but is malformed")
	}
	if body[firstByte(body)] != '{' {
		return nil, nil
	}
	// encoding/json matches member names in any case: .NET's default serialiser writes BatchItemFailures.
	var answer struct {
		BatchItemFailures namedItems `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errors.New(`its batchItemFailures is not a list of {"itemIdentifier": "…"}`)
	}
	if len(answer.BatchItemFailures) == 0 {
		return nil, nil
	}
	byID := make(map[string]int, len(events))
	for i := range events {
		byID[events[i].ID] = i
	}
	names := make([]string, len(answer.BatchItemFailures))
	var ids, indices bool // there is a name that can only be one
	for i, item := range answer.BatchItemFailures {
		name, ok := itemName(item.ItemIdentifier)
		if !ok {
			return nil, errors.New("an entry of its batchItemFailures has no itemIdentifier that is a text or a number")
		}
		_, id := byID[name]
		_, index := parseIndex(name, len(events))
		if !id && !index {
			return nil, fmt.Errorf("its batchItemFailures names %s, which is neither the id nor the index of an event that was sent",
				poller.QuoteAnswer(quoteShort(name)))
		}
		names[i], ids, indices = name, ids || !index, indices || !id
	}
	failed := make(map[int]bool, len(names))
	for _, name := range names {
		one, id := byID[name]
		other, index := parseIndex(name, len(events))
		if id && index && ids != indices {
			id, index = ids, indices
		}
		sure := id != index || one == other
		if id {
			failed[one] = failed[one] || sure
		}
		if index {
			failed[other] = failed[other] || sure
		}
	}
	return failed, nil
}

// namedItems gathers those of every member of its name: a serialiser may write one in each spelling, and encoding/json
// would keep the last.
type namedItems []struct {
	ItemIdentifier json.RawMessage `json:"itemIdentifier"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *namedItems) UnmarshalJSON(text []byte) error {
	var more []struct {
		ItemIdentifier json.RawMessage `json:"itemIdentifier"`
	}
	err := json.Unmarshal(text, &more)
	*n = append(*n, more...)
	return err //nolint:wrapcheck // the caller has words for it
}

func firstByte(body []byte) int {
	for i, c := range body {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return i
		}
	}
	return 0
}

// itemName returns an identifier as text; a number stands for itself.
func itemName(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", false
	}
	if raw[0] == '"' {
		var name string
		err := json.Unmarshal(raw, &name)
		return name, err == nil
	}
	return string(raw), raw[0] >= '0' && raw[0] <= '9'
}

// parseIndex reads a zero-based index below n, in plain decimal digits.
func parseIndex(name string, n int) (int, bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == name
}

func quoteShort(s string) string {
	const most = 64
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
