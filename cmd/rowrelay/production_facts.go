package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/source"
)

// facts are what the checklist is judged by.
type facts struct {
	c       *console
	app     *app
	host    *hostFile
	hosted  bool            // there is a host.json: this is a Function App
	local   map[string]bool // the settings that local.settings.json holds
	faults  []string        // of all that check finds
	pollers []*pollerFacts
	state   *link // nil: the state is in no service

	listErr  error // why the documents cannot be listed
	kept     int32 // days for which soft delete keeps what was overwritten; 0: not at all
	keptErr  error // why that is not known
	missing  bool  // file: the directory is not there yet
	keyless  bool  // the host's storage is reached without a key, or it is not known at all
	samehost bool  // the state lies in the account of AzureWebJobsStorage
}

// pollerFacts are those of one poller. What needs the database is empty where broken says why.
type pollerFacts struct {
	w      *wired
	view   *pollerView
	links  []link
	broken string

	function    functionFile
	functionErr error
	cleanupErr  error // of <poller>_cleanup/function.json

	rights    source.Rights
	rightsErr error
	cursor    []source.CursorColumn
	cursorErr error
	about     *publisher.About

	queues  map[string]error // those that it puts messages on: nil is there
	letters int              // dead letters in the state store
	lettErr error
}

// functionFile is what a function.json says that matters in production.
type functionFile struct {
	Retry    json.RawMessage `json:"retry"`
	Disabled bool            `json:"disabled"`
	Bindings []struct {
		Type         string `json:"type"`
		RunOnStartup bool   `json:"runOnStartup"`
		UseMonitor   *bool  `json:"useMonitor"`
		AuthLevel    string `json:"authLevel"`
	} `json:"bindings"`
}

func gather(ctx context.Context, c *console, a *app, chosen []*wired) *facts {
	host := readHost(appRoot(c))
	f := &facts{c: c, app: a, host: &host, hosted: host.err == nil, state: stateLink(a.cfg)}
	f.faults = append(lines(a.cfg.Faults), host.faults()...)
	if len(chosen) == 0 {
		f.faults = append(f.faults, "there are no pollers: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	f.askStore(ctx)
	for _, w := range chosen {
		p := f.gatherPoller(ctx, w)
		for _, text := range p.view.Faults {
			f.faults = append(f.faults, w.cfg.Name+": "+text)
		}
		f.pollers = append(f.pollers, p)
	}
	return f
}

func (f *facts) gatherPoller(ctx context.Context, w *wired) *pollerFacts {
	p := &pollerFacts{w: w, view: checkPoller(ctx, f.c, f.app, w, f.host, 0), links: linksOf(w)}
	if f.hosted {
		p.function, p.functionErr = readFunctionFile(filepath.Join(appRoot(f.c), w.cfg.Name, "function.json"))
		if isOutbox(w.cfg) {
			_, p.cleanupErr = readFunctionFile(filepath.Join(appRoot(f.c), w.cfg.Name+"_cleanup", "function.json"))
		}
	}
	if w.runner == nil {
		p.broken = "the poller has a fault: see settings"
		return p
	}
	p.rights, p.rightsErr = source.AskRights(ctx, w.conn, w.cfg.Source.Table, w.cfg.Source.Timeout)
	p.askQueues(ctx, f.app.cfg.State.Create)
	if w.outbox != nil {
		about, err := w.outbox.About(ctx)
		if err != nil {
			p.broken = "the outbox has a fault: see settings"
			return p
		}
		p.about = &about
		return p
	}
	p.cursor, p.cursorErr = w.source.CursorColumns(ctx)
	if p.cursorErr != nil {
		p.broken = "the source has a fault: see settings"
	}
	if f.app.store != nil {
		found, err := f.app.store.List(ctx, deadletter.Root+f.app.cfg.State.AppName+"/"+w.cfg.Name)
		for _, key := range found {
			rest := strings.TrimPrefix(key, deadletter.Root+f.app.cfg.State.AppName+"/"+w.cfg.Name) // not another poller's, whose name begins so
			if strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".") {
				p.letters++
			}
		}
		p.lettErr = err
	}
	return p
}

func readFunctionFile(path string) (functionFile, error) {
	var file functionFile
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	return file, err
}

// askQueues asks whether the queues are there. Those of Azurite and with state__create are made when they are needed.
func (p *pollerFacts) askQueues(ctx context.Context, create bool) {
	p.queues = map[string]error{}
	ask := func(s *config.Storage, name string) {
		client, err := queueClient(s, name)
		if err == nil {
			_, err = client.GetProperties(ctx, nil)
		}
		if queueerror.HasCode(err, queueerror.QueueNotFound) && (create || s.Development) {
			err = nil
		}
		p.queues[name+" of "+s.Setting] = brief(err)
	}
	for i := range p.w.cfg.Outputs {
		if out := &p.w.cfg.Outputs[i]; out.Kind == "queue" {
			ask(&out.Connection, out.Queue)
		}
	}
	if d := &p.w.cfg.DeadLetter; d.Kind == "queue" {
		ask(&d.Connection, d.Queue)
	}
}

// brief is an Azure error as one line: the SDK's own prints the whole answer.
func brief(err error) error {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return fmt.Errorf("HTTP %d %s", answer.StatusCode, answer.ErrorCode)
	}
	return err
}

// askStore looks at the state store without writing to it.
func (f *facts) askStore(ctx context.Context) {
	if f.app.store == nil {
		return
	}
	s := &f.app.cfg.State
	if s.Kind == "file" {
		_, err := os.Stat(s.Path)
		f.missing = err != nil
		return
	}
	if s.Kind != "blob" {
		return
	}
	if _, err := f.app.store.List(ctx, "state/"+s.AppName+"/"); err != nil {
		f.listErr = brief(err)
	}
	f.kept, f.keptErr = keptFor(ctx, &s.Connection)
	own, hosts := accountOf(&s.Connection), f.hostAccount()
	f.samehost = own != "" && own == hosts
	f.keyless = s.Connection.ConnectionString == ""
}

// keptFor is for how many days soft delete keeps what was overwritten. It takes a right on the account that the app need not have.
func keptFor(ctx context.Context, s *config.Storage) (days int32, err error) {
	var client *service.Client
	if s.ConnectionString != "" {
		client, err = service.NewClientFromConnectionString(s.ConnectionString.Reveal(), nil)
	} else {
		var credential azcore.TokenCredential
		if credential, err = credentialOf(s.Identity()); err == nil {
			client, err = service.NewClient(s.BlobServiceURI, credential, nil)
		}
	}
	if err != nil {
		return 0, errors.New("no client for the service")
	}
	answer, err := client.GetProperties(ctx, nil)
	if err != nil {
		return 0, brief(err)
	}
	policy := answer.DeleteRetentionPolicy
	if policy == nil || policy.Enabled == nil || !*policy.Enabled || policy.Days == nil {
		return 0, nil
	}
	return *policy.Days, nil
}

// accountOf names a storage account; "" where its setting does not.
func accountOf(s *config.Storage) string {
	if s.ConnectionString != "" {
		for part := range strings.SplitSeq(s.ConnectionString.Reveal(), ";") {
			if name, value, _ := strings.Cut(part, "="); strings.EqualFold(strings.TrimSpace(name), "AccountName") {
				return strings.ToLower(strings.TrimSpace(value))
			}
		}
		return ""
	}
	_, host, _ := strings.Cut(s.BlobServiceURI, "://")
	name, _, _ := strings.Cut(host, ".")
	return strings.ToLower(name)
}

// hostAccount is the account of AzureWebJobsStorage; "" where it is not set.
func (f *facts) hostAccount() string {
	const name = "AzureWebJobsStorage"
	if text := f.env(name); text != "" {
		if strings.EqualFold(strings.ReplaceAll(text, " ", ""), "UseDevelopmentStorage=true") {
			return "devstoreaccount1"
		}
		return accountOf(&config.Storage{ConnectionString: config.Secret(text)})
	}
	if account := f.env(name + "__accountName"); account != "" {
		return strings.ToLower(account)
	}
	return accountOf(&config.Storage{BlobServiceURI: f.env(name + "__blobServiceUri")})
}

// env is a setting of the environment, whatever its case.
func (f *facts) env(name string) string {
	for _, pair := range f.c.environ {
		if key, value, ok := strings.Cut(pair, "="); ok && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// localNames are the settings that local.settings.json, or the file of --settings, holds.
func localNames(c *console) map[string]bool {
	path := c.settings
	if path == "" {
		path = "local.settings.json"
	}
	values, err := config.ReadLocalSettings(path)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, pair := range values {
		name, _, _ := strings.Cut(pair, "=")
		names[name] = true
	}
	return names
}
