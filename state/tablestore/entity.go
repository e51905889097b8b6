package tablestore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Config says where the documents are.
type Config struct {
	// Client is the table's client. It should not repeat a request for longer than a lease can wait.
	Client *aztables.Client
	// Table is its name, for messages.
	Table string
	// Create makes the table when it is missing (state__create=true, and always on Azurite).
	Create bool
}

// Store is a [state.Store] in a table.
type Store struct{ cfg Config }

const propertySize = 64 << 10

// head is the row of the entity that a document begins with.
const head = "head"

// entity is one entity as it travels. The content is in properties D0, D1 and so on.
type entity struct {
	PartitionKey string
	RowKey       string
	Parts        int    // of a head: how many further entities there are
	Of           string // what their rows begin with
	ETag         azcore.ETag
	content      []aztables.EDMBinary
}

func newEntity(key, row string, data []byte) *entity {
	e := &entity{PartitionKey: escape(key), RowKey: row}
	for chunk := range slices.Chunk(data, propertySize) {
		e.content = append(e.content, chunk)
	}
	return e
}

// encode writes the entity as JSON.
func (e *entity) encode() []byte {
	members := map[string]any{"PartitionKey": e.PartitionKey, "RowKey": e.RowKey}
	if e.Parts > 0 {
		members["Parts"], members["Of"] = e.Parts, e.Of
	}
	for i, chunk := range e.content {
		name := fmt.Sprintf("D%d", i)
		members[name], members[name+"@odata.type"] = chunk, "Edm.Binary"
	}
	data, _ := json.Marshal(members) // texts, a number and bytes
	return data
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *entity) UnmarshalJSON(data []byte) error {
	type plain entity // without this method
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	for i := 0; ; i++ {
		raw, ok := members[fmt.Sprintf("D%d", i)]
		if !ok {
			return nil
		}
		var chunk aztables.EDMBinary
		if err := json.Unmarshal(raw, &chunk); err != nil {
			return err
		}
		e.content = append(e.content, chunk)
	}
}

func (e *entity) data() []byte { return slices.Concat(e.content...) }

// escape writes a key as the key of a partition: what is no letter, digit, dot, hyphen, underscore or slash's stand-in
// becomes ! and two hexadecimal digits, so that a prefix stays one.
func escape(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._-", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "!%02X", c)
		}
	}
	return b.String()
}
