package config

import (
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/mode"
)

// App is the whole configuration. The JSON names are those of the settings.
type App struct {
	State  State  `json:"state"`
	Log    Log    `json:"log"`
	Status Status `json:"status"`
	// MaxChangesPerWorker is how many changes that wait make one worker more, in the figures for an autoscaler.
	MaxChangesPerWorker int `json:"Sql_Trigger_MaxChangesPerWorker"`
	// AppLockTimeout is that of the Azure SQL trigger's application lock.
	AppLockTimeout time.Duration
	// Pollers are sorted by name; the bad ones are among them, with their Faults.
	Pollers []*Poller `json:"pollers"`
	// Faults are those of what all pollers share: any of them stops every poller.
	Faults Faults `json:"faults,omitempty"`
	// Warnings do not stop anything.
	Warnings Faults `json:"warnings,omitempty"`
}

// State says where checkpoints and leases live.
type State struct {
	Kind string `json:"kind"` // blob, table, sql, file or memory
	// ConnectionSetting is the name that was given. It led to Connection for blob and table, to Database for sql.
	ConnectionSetting string   `json:"connection"`
	Connection        Storage  `json:"resolved"`
	Database          Database `json:"database"`
	Container         string   `json:"container"`
	Table             string   `json:"table"` // for sql and table
	Create            bool     `json:"create"`
	Path              string   `json:"path"`
	AppName           string   `json:"app_name"`
}

// Changed names the settings that lead other to another store, or to other documents in it, than s, wherever their
// values stand. A connection that has another name is another one.
func (s *State) Changed(other *State) (names []string) {
	for _, one := range []struct {
		setting string
		changed bool
	}{
		{"state__app_name", s.AppName != other.AppName},
		{"state__connection", s.ConnectionSetting != other.ConnectionSetting || s.Connection != other.Connection ||
			s.Database != other.Database},
		{"state__container", s.Container != other.Container},
		{"state__create", s.Create != other.Create},
		{"state__kind", s.Kind != other.Kind},
		{"state__path", s.Path != other.Path},
		{"state__table", s.Table != other.Table},
	} {
		if one.changed {
			names = append(names, one.setting)
		}
	}
	return names
}

// Log says how much is logged.
type Log struct {
	Level string `json:"level"` // debug, info, warn or error
}

// Status says where the standalone process shows metrics.
type Status struct {
	Listen string `json:"listen"` // host:port
	Token  Secret `json:"token"`
}

// Poller is one poller with its source and at least one output, unless its Faults say otherwise.
type Poller struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
	// Outputs hold the default output first (its Name is ""), then the others by name.
	Outputs []Output `json:"outputs"`

	Schedule string `json:"schedule"`
	// ScheduleSet says that the schedule was written, not the default: under the host it has no effect.
	ScheduleSet  bool          `json:"schedule_set"`
	BatchSize    int           `json:"batch_size"`
	BatchSizeMax int           `json:"batch_size_max"`
	BatchBytes   int           `json:"batch_bytes"`
	MaxRowBytes  int           `json:"max_row_bytes"`
	MaxBatches   int           `json:"max_batches"` // 0: no bound
	TickBudget   time.Duration `json:"tick_budget"`
	// Linger is poller.Config's: no setting, see SetLinger.
	Linger       time.Duration `json:"-"`
	PollInterval time.Duration `json:"poll_interval"` // 0: the tick ends when drained
	// PollIntervalMax is how far PollInterval grows while there is nothing to do; at least PollInterval.
	PollIntervalMax time.Duration `json:"poll_interval_max"`
	LeaseTTL        time.Duration `json:"lease_ttl"` // 0 in outbox mode: Source.ClaimTTL
	Ordering        string        `json:"ordering"`  // key, source or none
	Concurrency     int           `json:"concurrency"`

	MaxAttempts int `json:"max_attempts"` // at least 1: the first delivery
	// RetryDelays are the waits before attempt 2, 3, …; past the end the last repeats.
	RetryDelays     []time.Duration `json:"retry_delays"`
	MaxParked       int             `json:"max_parked"`
	AfterDeadLetter string          `json:"after_dead_letter"` // release or block
	DeadLetter      DeadLetter      `json:"dead_letter"`

	// Faults stop this poller only.
	Faults Faults `json:"faults,omitempty"`
	// Warnings do not stop anything.
	Warnings Faults `json:"warnings,omitempty"`

	written map[string]string // by key: the names of settings as they were written
}

// Setting returns the full name of one of the poller's settings as it was written, for faults that others add:
// p.Faults.Add(p.Setting("schedule"), …). Keys of outputs begin with "output__" or "outputs__<name>__".
func (p *Poller) Setting(key string) string {
	if name, ok := p.written[key]; ok {
		return name
	}
	return pollersGroup + "__" + p.Name + "__" + key
}

// Source is the table or query that a poller watches. Exactly one of Table and Query is set; with Mode Outbox it is
// Table, and of the rest only the connection, Timeout, Connections and what stands under Map have a value.
type Source struct {
	ConnectionSetting string    `json:"connection"`
	Connection        Database  `json:"resolved"`
	Mode              mode.Mode `json:"mode"`
	Table             string    `json:"table"`  // as written, quotes included
	Tables            string    `json:"tables"` // the pattern of a poller that stands for many, "" for one
	Matching          Matching  `json:"-"`      // what Tables means
	Query             string    `json:"query"`
	Cursor            []string  `json:"cursor"`
	Key               []string  `json:"key"`       // empty: the primary key
	OrderKey          []string  `json:"order_key"` // empty: the key
	Columns           []string  `json:"columns"`   // empty: all
	Where             string    `json:"where"`
	Start             string    `json:"start"` // earliest, latest, or a cursor value as it was written
	TimeZone          string    `json:"time_zone"`
	// Location is TimeZone, never nil in a poller without faults.
	Location   *time.Location `json:"-"`
	DeleteWhen string         `json:"delete_when"` // a column; not NULL and not false means deleted
	Op         string         `json:"op"`          // upsert or delete
	// EveryChange and BeforeImage go with Mode ChangeTracking only.
	EveryChange bool `json:"every_change"`
	BeforeImage bool `json:"before_image"`
	// Operations (of insert, update and delete; empty: all), TrackTable, TrackRetention and TrackMaxDeletes (0: any
	// number) have a value with Mode ChangeTracking only.
	Operations      []string      `json:"operations"`
	Changed         []string      `json:"changed"`        // columns; empty: all
	IgnoreContext   string        `json:"ignore_context"` // 0x and digits in lower case; "" for none
	TrackTable      string        `json:"track_table"`
	TrackRetention  time.Duration `json:"track_retention"`
	TrackMaxDeletes int           `json:"track_max_deletes"`
	// Isolation is snapshot or read_committed, OnGap stop or resync, SnapshotChunk rows: with Mode ChangeTracking only.
	Isolation     string `json:"isolation"`
	OnGap         string `json:"on_gap"`
	SnapshotChunk int    `json:"snapshot_chunk"`

	// What follows has a value where Leases is azfunc: then Mode is mode.Leased. LeasesLock is database or table.
	Leases       string `json:"leases"`
	LeasesTable  string `json:"leases_table"` // "": the binding's own name
	SiteName     string `json:"site_name"`
	FunctionName string `json:"function_name"`
	LegacyID     string `json:"legacy_function_id"` // 16 hexadecimal digits; "" for none
	LeasesLock   string `json:"leases_lock"`
	Compat       string `json:"compat"` // none or binding

	NullCursor  string        `json:"null_cursor"` // report or fail
	Identity    string        `json:"identity"`
	Timeout     time.Duration `json:"timeout"`
	Connections int           `json:"connections"`
	// LateCommits is auto, exact, overlap, settle or none.
	LateCommits string        `json:"late_commits"`
	LateWindow  time.Duration `json:"late_window"`
	LateLimit   time.Duration `json:"late_limit"`
	LateMemory  int           `json:"late_memory"` // rows
	// OnLongTransaction is deliver_late or wait, OnFailover stop or continue.
	OnLongTransaction string `json:"on_long_transaction"`
	OnFailover        string `json:"on_failover"`
	// FutureRows is deliver, hold or fail.
	FutureRows string `json:"future_rows"`

	// What follows has a value with Mode Outbox only. Map is the column of each role that was mapped, and the options'
	// values; nil: the table has the columns of `rowrelay outbox init`.
	Map         map[string]string `json:"map"`
	Strategy    string            `json:"strategy"`   // leader, partitioned, skip_locked; "": what suits the table
	Partitions  int               `json:"partitions"` // 1 to 1024
	ClaimTTL    time.Duration     `json:"claim_ttl"`
	ClaimsTable string            `json:"claims_table"`
	// CleanupSchedule is an NCRONTAB text, "" for no clean-up by `rowrelay run`.
	CleanupSchedule string        `json:"cleanup_schedule"`
	Retention       time.Duration `json:"retention"`
	CleanupChunk    int           `json:"cleanup_chunk"` // rows
	// FanoutSetting is the name that was given, Fanout what it led to, and FanoutQueue is set; or all three are empty. Of
	// an outbox, and with Mode mode.Leased.
	FanoutSetting string  `json:"fanout_connection"`
	Fanout        Storage `json:"fanout_resolved"`
	FanoutQueue   string  `json:"fanout_queue"`
}

// ReadsCommitted reports whether changes are read in no snapshot with their rows, on SQL Server.
func (s *Source) ReadsCommitted() bool {
	return s.Mode.Can(mode.Leases) || s.Isolation == "read_committed"
}

// DeadLetter says where events go that are given up.
type DeadLetter struct {
	Kind string `json:"kind"` // state or queue
	// ConnectionSetting is the name that was given, Connection what it led to, and Queue is set (only for queue).
	ConnectionSetting string  `json:"connection"`
	Connection        Storage `json:"resolved"`
	Queue             string  `json:"queue"`
}

// Output is one destination.
type Output struct {
	Name string `json:"name"` // "" is the default output
	Kind string `json:"kind"` // http, queue, stdout, rabbitmq, kafka, eventhubs, servicebus or sql

	URL     Address       `json:"url"`
	Timeout time.Duration `json:"timeout"`
	// Headers are by canonical header name.
	Headers map[string]Secret `json:"headers"`
	Secret  Secret            `json:"secret"`
	Gzip    bool              `json:"gzip"`
	// SeveralPerKey lets a request carry several events of an order key.
	SeveralPerKey bool `json:"several_per_key"`
	// Method, "" for POST, is for the operations that Methods (upsert, insert, update, delete) do not name.
	Method  string            `json:"method"`
	Methods map[string]string `json:"methods"`
	Every   time.Duration     `json:"rate"` // from one request to the next; 0: no limit
	// Auth is none or "", entra, or oauth2. With entra and no client id the default chain of credentials asks.
	Auth              string  `json:"auth"`
	AuthScope         string  `json:"auth_scope"`
	AuthTokenURL      Address `json:"auth_token_url"`
	AuthTenantID      string  `json:"auth_tenant_id"`
	AuthClientID      string  `json:"auth_client_id"`
	AuthClientSecret  Secret  `json:"auth_client_secret"`
	ClientCertificate Secret  `json:"client_certificate"`

	// ConnectionSetting is the name that was given; it led to Connection for a queue, to Broker for a broker, to Database
	// for a table.
	ConnectionSetting string   `json:"connection"`
	Connection        Storage  `json:"resolved"`
	Queue             string   `json:"queue"`
	Broker            Broker   `json:"broker"`
	Database          Database `json:"database"`
	Table             string   `json:"table"` // as written, quotes included
	// Destination and Destinations (by event type, in lower case) are a broker's templates.
	Destination     string            `json:"destination"`
	DestinationCase string            `json:"destination_case"` // lower or keep
	Destinations    map[string]string `json:"destinations"`

	Format string `json:"format"` // cloudevents, rowchange, sqltrigger, row, payload or cloudevents_binary
	// Type (a template) and Source are the CloudEvents attributes; "" leaves Rowrelay's own.
	Type   string `json:"type"`
	Source string `json:"source"`
	// Columns, Mask (redact, hash or last4, by column in lower case), Constants (by name) and JQ are what is made of a row
	// before it is sent.
	Columns    []string          `json:"columns"`
	Mask       map[string]string `json:"mask"`
	MaskSecret Secret            `json:"mask_secret"`
	Constants  map[string]string `json:"constants"`
	JQ         string            `json:"jq"`

	Batch      int `json:"batch"`
	BatchBytes int `json:"batch_bytes"`
	// MaxMessageBytes bounds one message to kafka, with its key and headers.
	MaxMessageBytes int `json:"max_message_bytes"`
	Retries         int `json:"retries"` // attempts of one request, at least 1
	// RejectStatus are the HTTP statuses, 400 to 599, after which a request is bisected instead of repeated.
	RejectStatus []int `json:"reject_status"`
}

// Database is what source__connection led to: a connection string, or the identity form for SQL Server.
type Database struct {
	// Setting is the setting that holds it, by its name in the environment.
	Setting          string `json:"setting"`
	ConnectionString Secret `json:"connection_string"`
	// Server, Database, Credential ("managedidentity" or "") and ClientID are the identity form, when there is no
	// string.
	Server     string `json:"server"`
	Database   string `json:"database"`
	Credential string `json:"credential"`
	ClientID   string `json:"client_id"`
}

// Storage is what a storage connection led to, by the conventions of Azure Functions: a connection string, or the
// identity form.
type Storage struct {
	// Setting is the setting that holds it, by its name in the environment.
	Setting          string `json:"setting"`
	ConnectionString Secret `json:"connection_string"`
	// The URI of the service that is asked for is set when there is no string.
	BlobServiceURI  string `json:"blob_service_uri"`
	QueueServiceURI string `json:"queue_service_uri"`
	TableServiceURI string `json:"table_service_uri"`
	Identity
	// Development says that it is Azurite.
	Development bool `json:"development"`
}

// Identity says who asks for a token of Microsoft Entra, where there is no connection string. The zero value is the
// default chain of credentials.
type Identity struct {
	Credential   string `json:"credential"` // "managedidentity" or ""
	ClientID     string `json:"client_id"`
	ResourceID   string `json:"resource_id"` // a user-assigned identity by its resource id instead of ClientID
	TenantID     string `json:"tenant_id"`   // with ClientID and ClientSecret: a service principal
	ClientSecret Secret `json:"client_secret"`
}

// Broker is what the connection of a broker led to: a connection string (for rabbitmq an amqp or amqps URL), or for
// eventhubs and servicebus the identity form.
type Broker struct {
	// Setting is the setting that holds it, by its name in the environment.
	Setting          string `json:"setting"`
	ConnectionString Secret `json:"connection_string"`
	// Namespace is X__fullyQualifiedNamespace, such as shop.servicebus.windows.net, when there is no string.
	Namespace string `json:"fully_qualified_namespace"`
	Identity
}

// Identity is who asks for a token with Auth=entra.
func (o *Output) Identity() Identity {
	id := Identity{ClientID: o.AuthClientID, TenantID: o.AuthTenantID, ClientSecret: o.AuthClientSecret}
	if o.AuthClientID != "" && o.AuthClientSecret == "" {
		id.Credential = "managedidentity"
	}
	return id
}

// AllFaults returns the app's faults and those of each poller; one of a default once.
func (a *App) AllFaults() Faults {
	all := append(Faults(nil), a.Faults...)
	for _, p := range a.Pollers {
		for _, f := range p.Faults {
			if !isDefault(f.Setting) || !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// Poller returns the poller of that name, nil when there is none.
func (a *App) Poller(name string) *Poller {
	for _, p := range a.Pollers {
		if p.Name == name {
			return p
		}
	}
	return nil
}
