// Package alive tells whether a process of this machine has died. A process holds a lock on a file as long as it lives,
// and puts the file's name, its mark, into the leases and claims that it takes. The kernel gives the lock back with the
// process, however that ends. Whoever can take it knows that the holder of such a lease sends nothing any more, and
// need not wait for it to expire.
//
// What is not certain is answered with no: a mark of another machine, of this machine before it was started anew, of
// another user or another file system. A process that is frozen has its lock. It works on Linux, whose kernel says
// which start of a machine this is; elsewhere no process has a mark.
package alive

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Marks are the marks of one directory, which belongs to this user alone.
type Marks struct {
	dir   string
	start string // which start of the machine this is; "" where that is not known

	once sync.Once
	mark string
	lock *flock.Flock // held as long as the process lives
}

// New returns the marks of a directory.
func New(dir string) *Marks {
	start, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		start = nil
	}
	return &Marks{dir: dir, start: strings.TrimSpace(string(start))}
}

// Default returns the marks of this user, which lie below the directory for temporary files: one and the same for the
// whole process.
var Default = sync.OnceValue(func() *Marks {
	return New(filepath.Join(os.TempDir(), "rowrelay-"+strconv.Itoa(os.Getuid())))
})

// old is how long a process is known to be dead before its file is removed: by then its leases, of an hour at most,
// have expired.
const old = 2 * time.Hour

// Own is this process's mark; "" where it has none. The lock is taken with the first call.
func (m *Marks) Own() string {
	m.once.Do(func() {
		if m.start == "" || os.MkdirAll(m.dir, 0o700) != nil || !private(m.dir) {
			return
		}
		m.tidy()
		mark := rand.Text()
		file := m.file(mark)
		if os.WriteFile(file, []byte(m.start), 0o600) != nil {
			return
		}
		m.lock = flock.New(file, flock.SetFlag(os.O_RDWR))
		if locked, err := m.lock.TryLock(); err == nil && locked {
			m.mark = mark
		}
	})
	return m.mark
}

// Died reports whether it is certain that the process of a mark has died, and how long ago that was first found out, by
// whatever process.
func (m *Marks) Died(mark string) (ago time.Duration, certain bool) {
	if mark == "" || strings.ContainsAny(mark, `/\.`) || m.start == "" || !private(m.dir) || !m.free(m.file(mark)) {
		return 0, false
	}
	found := m.file(mark) + deadSuffix
	info, err := os.Lstat(found)
	if err != nil {
		if err = os.WriteFile(found, nil, 0o600); err == nil {
			info, err = os.Lstat(found)
		}
	}
	if err != nil {
		return 0, false
	}
	return max(time.Since(info.ModTime()), 0), true
}

const (
	// aliveSuffix makes a mark the name of the file that its process keeps locked.
	aliveSuffix = ".alive"
	// deadSuffix makes that the name of the file that says when a process was found to be dead.
	deadSuffix = ".dead"
)

// free reports whether nobody holds a file of this start of the machine. Any number of processes may ask at once.
func (m *Marks) free(file string) bool {
	start, err := os.ReadFile(file)
	if err != nil || string(start) != m.start {
		return false
	}
	lock := flock.New(file, flock.SetFlag(os.O_RDONLY))
	defer func() { _ = lock.Close() }()
	locked, err := lock.TryRLock()
	return err == nil && locked
}

func (m *Marks) file(mark string) string { return filepath.Join(m.dir, mark+aliveSuffix) }

// tidy removes what processes left that are known to be dead for long, and finds out which others are. The age of the
// file is that of its process, which may have lived for days and died just now, with leases that somebody waits for.
func (m *Marks) tidy() {
	files, err := filepath.Glob(m.file("*"))
	if err != nil {
		return
	}
	for _, file := range files {
		info, err := os.Lstat(file)
		if err != nil || time.Since(info.ModTime()) < old {
			continue
		}
		ago, certain := m.Died(strings.TrimSuffix(filepath.Base(file), aliveSuffix))
		start, err := os.ReadFile(file)
		if certain && ago >= old || err == nil && string(start) != m.start {
			_, _ = os.Remove(file), os.Remove(file+deadSuffix)
		}
	}
}
