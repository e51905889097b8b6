package column

// Mapping is what engines share of how values of mapped tables are written.
type Mapping struct{}

// Literal writes an integer bare and any other value, in which there is no quote, in single quotes.
func (Mapping) Literal(c *Column, value string) string {
	if c.Kind == Integer {
		return value
	}
	return "'" + value + "'"
}

// Boolean writes 1 or 0.
func (Mapping) Boolean(_ *Column, v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// Payload returns the column unchanged: drivers return text as it is.
func (Mapping) Payload(_ *Column, expr string) string { return expr }

// ByIndex is empty: the engine's own choice of index is relied on.
func (Mapping) ByIndex(string) string { return "" }

// Unordered is empty: LIMIT stands without ORDER BY too.
func (Mapping) Unordered() string { return "" }
