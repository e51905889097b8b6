package deadletter

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/rowrelay/rowrelay/change"
)

// forms are the columns of a row and of its key that the format sqltrigger writes in another form than all others, by
// their names. The order of the columns is the row's.
type forms struct {
	Row map[string]string `json:"row,omitempty"`
	Key map[string]string `json:"key,omitempty"`
}

// formsOf is what is recorded of a shape; nil where every form is the plain one.
func formsOf(s *change.Shape) *forms {
	if s == nil {
		return nil
	}
	f := &forms{Row: named(s.Row), Key: named(s.Key)}
	if len(f.Row) == 0 && len(f.Key) == 0 {
		return nil
	}
	return f
}

func named(members []change.Member) map[string]string {
	found := map[string]string{}
	for _, m := range members {
		var name string
		if m.Form == change.Plain || json.Unmarshal([]byte(m.Name[:len(m.Name)-1]), &name) != nil {
			continue
		}
		found[name] = m.Form.String()
	}
	return found
}

// shape is what was recorded, for the columns that the row and the key have.
func (f *forms) shape(row, key []byte) (*change.Shape, error) {
	if f == nil {
		return nil, nil //nolint:nilnil // every form is the plain one
	}
	ofRow, err := membersOf(row, f.Row)
	if err != nil {
		return nil, err
	}
	ofKey, err := membersOf(key, f.Key)
	return &change.Shape{Row: ofRow, Key: ofKey}, err
}

func membersOf(object []byte, named map[string]string) ([]change.Member, error) {
	for name, text := range named {
		if _, known := change.FormOf(text); !known {
			return nil, fmt.Errorf("the form of %.40q is %.40q", name, text)
		}
	}
	var members []change.Member
	for quoted := range change.Members(object) {
		var name string
		if err := json.Unmarshal(quoted, &name); err != nil {
			return nil, err
		}
		form, _ := change.FormOf(named[name])
		members = append(members, change.Member{Name: string(quoted) + ":", Form: form})
	}
	return members, nil
}

// date is how the text of a time begins.
var date = regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// undated says whether the time in a record of version 1, which does not say so, is that of the fetch: the event's
// cursor is no time.
func undated(at change.Cursor) bool {
	var cursor struct {
		Kind  string          `json:"kind"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(at, &cursor) != nil {
		return true
	}
	switch cursor.Kind {
	case "timestamp+pk", "date+pk":
		return false
	case "composite+pk":
		return !date.Match(cursor.Value)
	default:
		return true
	}
}
