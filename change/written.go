package change

// Written is what a database that tracks writes itself says of a change beside the row.
type Written struct {
	// Columns is a JSON array in ASCII: the names of the columns that an update wrote. "" is any.
	Columns string
	// Context is what the last writer said of itself, in hexadecimal digits after 0x; "" is nothing.
	Context string
}

// maxColumns is the longest list of columns that is told. It stands in headers, of which receivers take some kilobytes.
const maxColumns = 1024

// NewWritten returns what is known of a change; nil for nothing. Without names any column may have been written.
func NewWritten(columns []string, context string) *Written {
	var list []byte
	for i, name := range columns {
		list = AppendString(append(list, "[,"[min(i, 1)]), name)
	}
	if len(columns) > 0 {
		list = appendASCII(nil, append(list, ']'))
	}
	if len(list) > maxColumns {
		list = nil
	}
	if list == nil && context == "" {
		return nil
	}
	return &Written{string(list), context}
}

// AnyColumn is w without its columns.
func (w *Written) AnyColumn() *Written {
	if w == nil {
		return nil
	}
	return NewWritten(nil, w.Context)
}

// bound is an upper bound of what a format writes of it.
func (w *Written) bound() int {
	if w == nil {
		return 0
	}
	return len(`,"rowrelaychanged":"","rowrelaycontext":""`) + quotedBound(w.Columns) + len(w.Context)
}

// appendAttributes writes it as CloudEvents attributes, in which a list is its JSON as text.
func (w *Written) appendAttributes(dst []byte) []byte {
	if w.Columns != "" {
		dst = AppendString(append(dst, `,"rowrelaychanged":`...), w.Columns)
	}
	return appendContext(dst, `,"rowrelaycontext":"`, w.Context)
}

// appendMembers writes it as members of a RowChange's metadata.
func (w *Written) appendMembers(dst []byte) []byte {
	if w.Columns != "" {
		dst = append(append(dst, `,"changed":`...), w.Columns...)
	}
	return appendContext(dst, `,"context":"`, w.Context)
}

func appendContext(dst []byte, name, context string) []byte {
	if context == "" {
		return dst
	}
	return append(append(append(dst, name...), context...), '"')
}
