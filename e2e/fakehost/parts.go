package fakehost

import (
	"errors"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Host is a running function app.
type Host struct {
	root     string
	options  Options
	settings settings
	config   hostConfig
	client   *http.Client
	journal  journal

	mu        sync.Mutex
	functions map[string]function
	jobHost   jobHost
	worker    *worker
	stopped   error         // why no worker will be started any more
	zombie    bool          // the worker exited with code 0, and the host believes that it runs
	changed   chan struct{} // closed, and replaced, when worker, stopped or zombie changes
	exits     []time.Time   // counted exits
	restarts  int
	running   int           // invocations in flight
	closed    chan struct{} // closed when the supervision has ended
}

// jobHost is one life of the host's inner part. It has one port, which each of its workers binds, and the functions
// of its start.
type jobHost struct {
	number      int
	port        int
	directories []string // beside host.json, when it started
}

// worker is one process of the handler.
type worker struct {
	cmd  *exec.Cmd
	port int
	// ready is closed when the first probe was answered, readyAfter is set before.
	ready      chan struct{}
	readyAfter time.Duration
	// exited is closed when the process has ended and its output is read; code is set before.
	exited chan struct{}
	code   int
	// killed: the host itself, or the platform below it, killed the process.
	killed atomic.Bool
}

const probeLimit = 30 * time.Second

// errZombie is why there will be no further worker although the host goes on.
var errZombie = errors.New("the worker exited with code 0: it is never restarted, and the host says Running")

// The host gives up on a worker whose exits come in close succession.
const (
	exitsBeforeStop = 3
	exitWindow      = 30 * time.Minute
	exitForRestart  = 200 // an exit that asks for a restart
)

// Options say which function app to run.
type Options struct {
	// Root is the script root: the folder of host.json. The executable must already be in it.
	Root string
	// Settings are the app settings; nil means the Values of the root's local.settings.json.
	Settings map[string]string
	// Keys are the function app's keys, for Front.
	Keys Keys
	// Open plays func start without --enableAuth: to Front every caller is an admin.
	Open bool
	// ZeroRestarts plays the hosts from early 2026 on, which take exit code 0 for 200. Older ones leave such a
	// worker's port unserved.
	ZeroRestarts bool
	// StartLimit is how long a worker may take to its first answer; 0 is the host's 30 seconds.
	StartLimit time.Duration
}
