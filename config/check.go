package config

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/config/kind"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/loopback"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/sqltext"
)

func (l *loader) checkState() {
	s, st := l.own, &l.app.State
	if !s.has("state__app_name") {
		st.AppName = "local"
		if _, site, ok := l.env.variable("WEBSITE_SITE_NAME"); ok {
			st.AppName = site
		}
	}
	const connection, table = "state__connection", "state__table"
	if !s.ok("state__kind", connection) {
		return
	}
	switch st.Kind {
	case "blob":
		st.Connection = l.env.storage(s, connection, st.ConnectionSetting, blobService)
	case "table":
		st.Connection = l.env.storage(s, connection, st.ConnectionSetting, tableService)
		if st.Table = cmp.Or(st.Table, "rowrelaystate"); !azureTable.MatchString(st.Table) {
			s.fault(table, "is no name that Azure Storage allows for a table",
				"Write a letter and 2 to 62 further letters and digits, such as rowrelaystate")
		}
	case "sql":
		st.Table = cmp.Or(st.Table, "rowrelay_state")
		if !s.has(connection) {
			s.fault(connection, "is required for state__kind=sql",
				"Name the setting that holds the database's connection string, such as state__connection=ORDERS_DB")
			return
		}
		st.Database = l.env.database(s, connection, st.ConnectionSetting)
	}
}

var azureTable = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

// checkStateKind asks for a state store where there is something to keep in it: an outbox keeps all in its own
// database.
func (l *loader) checkStateKind() {
	const key = "state__kind"
	const mend = "Set it to blob or table (Azure Storage), sql (a database), file (this machine, for rowrelay run) or memory (forgets)"
	if l.own.has(key) || !l.own.ok(key) {
		return
	}
	for _, p := range l.app.Pollers {
		if !p.Source.Mode.Can(mode.Document) && p.DeadLetter.Kind == "queue" {
			l.own.fault(key, "is required for "+p.Setting("dead_letter__kind")+
				"=queue: a dead letter that is too large for its queue is put there", mend)
			return
		}
		if p.Source.Mode.Can(mode.Document) {
			l.own.fault(key, "is required", mend)
			return
		}
	}
}

func (l *loader) checkStatus() {
	s, st := l.own, l.app.Status
	if !s.ok("status__listen", "status__token") {
		return
	}
	host, _, err := net.SplitHostPort(st.Listen)
	if err != nil {
		return
	}
	const generate = "Set one that nobody guesses, such as what openssl rand -hex 24 prints"
	short := st.Token != "" && utf8.RuneCountInString(st.Token.Reveal()) < leastToken
	switch {
	case loopback.Is(host) && short:
		l.app.Warnings.Add(s.named("status__token"),
			fmt.Sprintf("is shorter than %d characters: whoever reaches status__listen, by a tunnel or a proxy too, can guess it", leastToken), generate)
	case loopback.Is(host):
	case st.Token == "":
		s.fault("status__listen", "can be reached from other machines, and status__token is not set",
			"Set status__token, or listen on 127.0.0.1")
	case short:
		s.fault("status__token", fmt.Sprintf("is shorter than %d characters, and status__listen can be reached from other machines", leastToken), generate)
	}
}

// leastToken is the fewest characters of a token that is not guessed, however fast somebody asks.
const leastToken = 16

func (l *loader) checkSource(p *pollerScopes) {
	s, src := p.own, &p.poller.Source
	if s.ok("source__connection") {
		src.Connection = l.env.database(s, "source__connection", src.ConnectionSetting)
	}
	src.Location, _ = location(src.TimeZone) // proved by the setting's kind
	table, query := s.has("source__table") || s.has(tablesKey), s.has("source__query")
	switch {
	case s.has("source__table") && query:
		s.fault("source__query", "is set, and so is "+s.named("source__table")+": a poller watches one of them",
			"Remove one of the two")
	case !table && !query && s.ok("source__mode", "source__table", "source__query"):
		s.fault("source__table", "is required, or "+s.prefix+"source__query",
			"Set it to the table, such as "+s.prefix+"source__table=dbo.Orders")
	}
	if query && !s.has("source__key") && s.ok("source__query", "source__key") {
		s.fault("source__key", "is required with "+s.named("source__query")+": a query has no primary key",
			"Name the columns that identify a row, such as "+s.prefix+"source__key=id")
	}
	if !s.has("source__cursor") && s.ok("source__mode", "source__cursor") {
		s.fault("source__cursor", "is required",
			"Name the column that grows with every change, such as "+s.prefix+"source__cursor=updated_at")
	}
	if src.DeleteWhen != "" && src.Op == "delete" && s.ok("source__delete_when", "source__op") {
		s.fault("source__delete_when",
			"is set, and so is "+s.named("source__op")+"=delete: in a tombstone table every row is a delete already",
			"Remove one of the two")
	}
	checkText(s, "source__query", src.Query, engineOf(src.Connection), queryFlaw)
	checkText(s, "source__where", src.Where, engineOf(src.Connection), conditionFlaw)
}

func checkText(s *scope, key, text, engine string, flawOf func(text, engine string) *kind.Flaw) {
	if text == "" || !s.ok(key) {
		return
	}
	if f := flawOf(text, engine); f != nil {
		s.fault(key, f.Problem, f.Mend)
	}
}

// Shortest leases: the clock of a storage account has a resolution of 1 s and a margin of 2 s.
const shortestStorageLease = 10 * time.Second

func (l *loader) checkLease(p *pollerScopes) {
	const key = "lease_ttl"
	store := l.app.State.Kind
	if (store == "blob" || store == "table") && p.own.ok(key) && p.poller.LeaseTTL < shortestStorageLease {
		p.own.fault(key, fmt.Sprintf("%q is shorter than 10s, the least for state__kind=%s", p.poller.LeaseTTL, store),
			"Write 10s or more, such as 60s")
	}
}

// What has no effect on an output of another kind.
var (
	httpOnly = append([]string{"url", "headers__", "secret", "gzip", "several_per_key", "method", "methods__", "rate",
		"auth"}, authParts...)
	queueOnly = []string{"queue"}
	tableOnly = []string{"table"}
	// connected are queue, brokers and sql.
	connected  = []string{"connection"}
	brokerOnly = []string{"destination", "destination_case", "destinations__"}
	kafkaOnly  = []string{"max_message_bytes"}
	// shown is who sends, to an HTTP receiver and to Kafka.
	shown = []string{"client_certificate"}
)

func (l *loader) checkOutput(p *Poller, s *scope, out *Output) {
	if !s.ok("kind") {
		return
	}
	checkFormat(p, s, out)
	const statuses = "reject_status"
	otherKind := "has no effect on an output of kind " + out.Kind
	switch out.Kind {
	case "http":
		checkHTTP(p, s, out)
		warnUnused(p, s, otherKind, slices.Concat(queueOnly, connected, brokerOnly, kafkaOnly, tableOnly))
		checkStatuses(p, s, out)
	case "queue":
		l.checkQueue(p, s, out)
		warnUnused(p, s, otherKind, slices.Concat(httpOnly, brokerOnly, kafkaOnly, tableOnly, shown))
		checkStatuses(p, s, out)
	case "stdout":
		warnUnused(p, s, otherKind, slices.Concat(httpOnly, queueOnly, connected, brokerOnly, kafkaOnly, tableOnly,
			shown, []string{statuses}))
	case "sql":
		l.checkSQLOutput(p, s, out)
		warnUnused(p, s, otherKind, slices.Concat(httpOnly, queueOnly, brokerOnly, kafkaOnly, shown,
			[]string{statuses, "format", "type", "source"}))
	default:
		l.checkBroker(s, out)
		unused := slices.Concat(httpOnly, queueOnly, tableOnly, []string{statuses})
		if out.Kind != "kafka" {
			unused = slices.Concat(unused, kafkaOnly, shown)
		}
		warnUnused(p, s, otherKind, unused)
		return
	}
	out.Destination, out.DestinationCase, out.Destinations = "", "", nil
}

func (l *loader) checkQueue(p *Poller, s *scope, out *Output) {
	switch {
	case out.ConnectionSetting == "" && s.ok("connection"):
		s.fault("connection", "is required for an output of kind queue",
			"Name the setting that holds the storage connection, such as "+s.prefix+"connection=AzureWebJobsStorage")
	case s.ok("connection"):
		out.Connection = l.env.storage(s, "connection", out.ConnectionSetting, queueService)
	}
	if out.Queue != "" || !s.ok("queue") {
		return
	}
	out.Queue = defaultQueue(s, "queue", p.Name, "")
}

// budgetReserve is what a tick needs besides its budget and the last request: to commit, release and answer.
const budgetReserve = 10 * time.Second

// CheckBudget says whether a tick of the poller fits the host's functionTimeout (0 or less: no bound): at the timeout
// the host kills the process, and everything in flight with it.
func (p *Poller) CheckBudget(functionTimeout time.Duration) Faults {
	longest, need := p.needs()
	if functionTimeout <= 0 || p.TickBudget == 0 || need < functionTimeout {
		return nil
	}
	var fs Faults
	mend := fmt.Sprintf("Raise functionTimeout in host.json above %s", need)
	if room := functionTimeout - longest - budgetReserve - time.Second; room > 0 {
		mend = fmt.Sprintf("Write %s or less, or raise functionTimeout in host.json above %s", room, need)
	}
	fs.Add(p.Setting("tick_budget"),
		fmt.Sprintf("%s, the longest output timeout %s and 10s together are not below the host's functionTimeout %s",
			p.TickBudget, longest, functionTimeout), mend)
	return fs
}

// needs is the longest output timeout, and how long a tick may take with it.
func (p *Poller) needs() (longest, need time.Duration) {
	for _, o := range p.Outputs {
		longest = max(longest, o.Timeout)
	}
	return longest, p.TickBudget + longest + budgetReserve
}

// SetLinger lets a tick send what it has fetched beyond its budget, for as long again: as far as the host's
// functionTimeout allows (0 or less: no bound).
func (p *Poller) SetLinger(functionTimeout time.Duration) {
	p.Linger = p.TickBudget
	if _, need := p.needs(); functionTimeout > 0 {
		p.Linger = max(0, min(p.Linger, functionTimeout-need-time.Second))
	}
}

// CheckBudget is the faults of all pollers by [Poller.CheckBudget].
func (a *App) CheckBudget(functionTimeout time.Duration) Faults {
	var fs Faults
	for _, p := range a.Pollers {
		fs = append(fs, p.CheckBudget(functionTimeout)...)
	}
	return fs
}

// engineOf names the engine of a connection; "" when the connection does not tell.
func engineOf(d Database) string {
	if d.Server != "" {
		return dsn.SQLServer
	}
	return dsn.Engine(d.Setting, d.ConnectionString.Reveal())
}

// queryFlaw says what keeps a query from being paged, nil when nothing does.
func queryFlaw(query, engine string) *kind.Flaw { return textFlaw(query, engine, sqltext.Syntax.Query) }

// conditionFlaw says what keeps a condition from standing in parentheses.
func conditionFlaw(where, engine string) *kind.Flaw {
	return textFlaw(where, engine, sqltext.Syntax.Condition)
}

// textFlaw reads a text as its engine would. Where the engine is not known, the text is read as each of them would, and
// the readings in which it is whole are believed.
func textFlaw(text, engine string, check func(sqltext.Syntax, string) *sqltext.Flaw) *kind.Flaw {
	var broken, found *sqltext.Flaw
	whole, swallows := false, false
	for _, syntax := range sqltext.Of(engine) {
		f, read := check(syntax, text), syntax.Scan(text)
		if read.Broken != "" {
			broken = f
			continue
		}
		whole = true
		swallows = swallows || read.LineComment
		if found == nil {
			found = f
		}
	}
	switch {
	case !whole:
		return kind.Wrong(broken.Problem, broken.Remedy)
	case found != nil:
		return kind.Wrong(found.Problem, found.Remedy)
	case swallows:
		return kind.Wrong("ends in a comment that would swallow what is put after it",
			"Write the comment as /* … */, or leave it out")
	}
	return nil
}

// tablesKey is the setting that makes one poller stand for many.
const tablesKey = "source__tables"

// checkTables judges a poller that stands for many.
func (l *loader) checkTables(p *pollerScopes) {
	s, src := p.own, &p.poller.Source
	if !s.has(tablesKey) || !s.ok(tablesKey) {
		return
	}
	if !s.own(tablesKey) {
		s.fault(tablesKey, "would make each poller one of many tables", "Write it below one poller")
		return
	}
	for _, other := range []string{"source__table", "source__query"} {
		if s.own(other) {
			s.fault(tablesKey, "is set, and so is "+s.named(other), "Remove one of the two")
			return
		}
	}
	var problem string
	if src.Matching, problem = parseMatching(src.Tables); problem != "" {
		s.fault(tablesKey, problem, "Write schema.name, with * for any text, and ! before what is left out: sales.*, !sales.tmp_*")
	}
}

// refuseTables is the fault of a poller that stands for many where nobody lists them.
func (p *Poller) refuseTables() {
	if len(p.Faults) > 0 {
		return
	}
	p.Faults.Add(p.Setting(tablesKey), "needs a poller for each table, and the Functions host a function for each poller",
		"Write the settings of each: rowrelay config to-env --tables --json prints them. rowrelay run finds tables by itself")
}
