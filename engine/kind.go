package engine

// Kind is what a value is under the one rule of docs/values.md.
type Kind uint8

const (
	KindNone Kind = iota // refused
	KindBool
	KindInteger
	KindDecimal
	KindFloat
	KindText
	KindUUID
	KindBinary
	KindDate
	KindTime
	KindDateTime   // no zone
	KindInstant    // in UTC
	KindOffsetTime // with its own offset
	KindJSON
	KindRowVersion // grows with every write in the whole database, unique per write (SQL Server's rowversion)
)

// IsTime reports whether values of the kind are a date, or a date and time.
func (k Kind) IsTime() bool {
	return k == KindDate || k == KindDateTime || k == KindInstant || k == KindOffsetTime
}

// String names the kind as documents hold it: a change of it stops pollers.
func (k Kind) String() string {
	switch k {
	case KindBool:
		return "boolean"
	case KindInteger:
		return "integer"
	case KindDecimal:
		return "decimal"
	case KindFloat:
		return "float"
	case KindText:
		return "text"
	case KindUUID:
		return "uuid"
	case KindBinary:
		return "binary"
	case KindDate:
		return "date"
	case KindTime:
		return "time"
	case KindDateTime:
		return "datetime"
	case KindInstant:
		return "instant"
	case KindOffsetTime:
		return "offset datetime"
	case KindJSON:
		return "json"
	case KindRowVersion:
		return "rowversion"
	default:
		return "none"
	}
}
