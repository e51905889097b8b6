package change

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Strict reads JSON that we wrote: one value, with no member that v does not have. What differs is damage, or another
// version's.
func Strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows after its end")
	}
	return nil
}
