package alive

import (
	"crypto/rand"
	"strings"
	"time"
)

// Marker knows the marks of processes: [Marks] does.
type Marker interface {
	// Own is this process's mark; "" where it has none.
	Own() string
	// Died reports whether it is certain that the process of a mark has died, and how long ago that was found out.
	Died(mark string) (ago time.Duration, certain bool)
}

// Grace is how long a holder that has died is waited for: its last requests may still be under way.
const Grace = 5 * time.Second

// ID draws an id that nobody else has. It begins with the mark of this process, where it has one. m may be nil.
func ID(m Marker) string {
	if m != nil {
		if mark := m.Own(); mark != "" {
			return mark + "." + rand.Text()[:8]
		}
	}
	return rand.Text()
}

// Died reports what m knows of the process that has drawn an id. m may be nil.
func Died(m Marker, id string) (ago time.Duration, certain bool) {
	mark, _, marked := strings.Cut(id, ".")
	if !marked || m == nil {
		return 0, false
	}
	return m.Died(mark)
}
