package config

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/mode"
)

const referenceHead = `# Settings

<!-- Written by go generate ./config from the tables in config/: do not edit. -->

Settings are app settings of the Function App, or environment variables, or the ` + "`Values`" + ` ` +
	`of ` + "`local.settings.json`" + `.
Names are nested by two underscores and read case-insensitively; two spellings of one setting are a fault. ` +
	`Everything below
` + "`pollers__`, `defaults__`, `state__`, `log__` and `status__`" + ` must be a setting of this page; other variables are ignored. Every fault is said
at once. A fault below one poller stops that poller only.

- **Empty** values mean that the setting is not set. Spaces around a value are dropped.
- **` + "`%NAME%`" + `** in a value stands for the environment variable NAME, ` + "`%%`" + ` for a percent sign. What comes in is not expanded again.
  Connection strings are taken as they are. In function.json the name must be plain ` +
	`(` + "`%ORDERS_SCHEDULE%`" + `): the host does not find
  names that contain two underscores.
- **Defaults.** ` + "`defaults__<setting>` stands for `pollers__<poller>__<setting>`" + ` in every poller that does not set it: ` +
	"`defaults__source__connection=SHOP_DB`" + `.
  An empty value of the poller's own takes it away. Where it has no effect (another mode, another kind of output) it ` +
	`is not meant.
  ` + "`output__…`" + ` is the default output's: with ` + "`defaults__output__kind`" + ` every poller has one.
- **Durations** carry units: ` + "`500ms`, `30s`, `1m30s`, `1h`" + `. **Sizes** are bytes, or carry KiB, MiB or ` +
	`GiB: ` + "`1048576`, `64KiB`, `8 MiB`" + `.
- **Lists of columns** are separated by commas. A name that holds a comma, a quote or outer spaces stands in ` +
	`quotes, whatever the
  engine: ` + "`\"odd, name\"`, `[odd, name]` or `` `odd, name` ``" + `; the closing quote is doubled to stand for ` +
	`itself.
- **Names** of pollers and outputs are a letter and up to 39 further letters, digits and single underscores.
- **Secrets** are shown nowhere: they print as ` + "`" + redacted + "`" + `. A URL prints without its query.
- **Files.** ` + "`NAME_FILE`" + ` (` + "`_FILE`" + ` in upper case) names a file, at most 64 KiB, that holds the value of NAME: a setting of this page, a
  connection that one of them names, or what ` + "`%NAME%`" + ` stands for. It is taken as it is, without ` +
	"`%NAME%`" + ` in it and without the line's
  end. Read at the start: a changed file needs a restart.
`

const referenceConnections = `
## Connections

A setting of type *name of a setting* never holds a connection string, only the name of the setting that does.

For a database, X is the setting of exactly that name, or what the portal makes of its "connection strings" ` +
	`(` + "`SQLAZURECONNSTR_X`," + `
` + "`SQLCONNSTR_X`, `CUSTOMCONNSTR_X`, `POSTGRESQLCONNSTR_X`, `MYSQLCONNSTR_X`" + `). SQL Server with an identity needs no string:
` + "`X__server`, `X__database`, `X__credential=managedidentity`" + ` and, for a user-assigned ` +
	`identity, ` + "`X__clientId`" + `.
ADO.NET's form (` + "`Server=…;Database=…`" + `) is SQL Server's; in ` + "`POSTGRESQLCONNSTR_X`" + ` and ` +
	"`MYSQLCONNSTR_X`" + ` it is the named engine's.

| engine | value of X | to another machine, where it does not say |
|---|---|---|
| SQLite | ` + "`sqlite:shop.db` (from the working directory on), `sqlite:///var/lib/shop.db`" + `; the file must exist | |
| PostgreSQL | ` + "`postgres://user:password@host:5432/shop`" + `, with the parameters of libpq; ` +
	"`host=… user=… password=… dbname=shop`; `Host=…;Username=…;Password=…;Database=shop`" + ` (Npgsql) | ` + "`sslmode=verify-full` (`PGSSLMODE` counts as said); `sslrootcert=FILE`" + ` for an authority of your own |
| MySQL, MariaDB | ` + "`mysql://user:password@host:3306/shop`, `user:password@tcp(host:3306)/shop`" + ` | ` + "`tls=true`; `ssl-ca=FILE`" + ` for an authority of your own |
| SQL Server, Azure SQL | ` + "`sqlserver://user:password@host:1433?database=shop`, `Server=tcp:host,1433;Database=shop;User ID=user;Password=…`" + ` (ADO.NET) | ` + "`Encrypt=True`, `TrustServerCertificate=False`" + `, on this machine too; ` + "`ServerCertificate=FILE`" + ` for one certificate |

So a connection to another machine is encrypted, and the server has to prove its name. What asks for less ` +
	`(` + "`sslmode=require`, `tls=skip-verify`," + `
` + "`TrustServerCertificate=True`" + `) is taken, and ` + "`rowrelay check`" + ` warns of it. Over a socket or the loopback interface PostgreSQL and MySQL need no TLS.

A host that does not answer is given up after 15 s (` + "`connect_timeout=15`, on MySQL `timeout=15s`" + `).
Of several of PostgreSQL (` + "`host1,host2`" + `) the next one is asked then: with three or more,
set it so that all fit into ` + "`source__timeout`" + `.

For storage, X is found as the Functions host finds it: ` + "`AzureWebJobsX`" + ` first, then ` + "`X`" + `. A ` +
	`value is a connection string and wins
(` + "`UseDevelopmentStorage=true`" + ` is Azurite). Otherwise ` + "`X__blobServiceUri`, `X__queueServiceUri` or `X__tableServiceUri` (or `X__serviceUri`)" + ` name the service, and
` + "`X__credential=managedidentity` with `X__clientId` or `X__managedIdentityResourceId`" + `, or ` + "`X__tenantId`, `X__clientId` and `X__clientSecret`" + `,
say who asks; with none of them the default chain of credentials does. ` + "`AzureWebJobsStorage__accountName`" + ` ` +
	`stands for the URIs of that account.

For a broker, X holds, by ` + "`output__kind`" + `:

| kind | value of X | or |
|---|---|---|
| rabbitmq | ` + "`amqps://user:password@host/vhost`, or `amqp://…`" + ` | |
| kafka | ` + "`kafka://user:password@host:9092,host2:9092?tls=true&sasl=scram-sha-256`" + `, or the connection string of an Event Hubs namespace | ` + "`X__fullyQualifiedNamespace`" + `, for Event Hubs |
| eventhubs, servicebus | the namespace's connection string | ` + "`X__fullyQualifiedNamespace`" + ` ` +
	`(` + "`shop.servicebus.windows.net`" + `), with the identity's settings as for storage |

All but RabbitMQ's are found as storage is: ` + "`AzureWebJobsX`" + ` first. User and password in a URL are ` +
	`percent-encoded.
`

// WriteReference writes docs/settings.md.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString(referenceConnections)
	writeTable(&b, "The application", "", appSettings)
	writeTable(&b, "A poller", "Below `pollers__<poller>__`, for example `pollers__orders__source__table`. A setting that is not for the poller's `source__mode` is a fault.",
		settingsOf(pollerSettings, func(row setting) bool { return row.modes == nil }))
	for _, modes := range modeSets(pollerSettings) {
		var names []string
		for _, m := range modes {
			names = append(names, string(m))
		}
		writeTable(&b, fmt.Sprintf("A poller in %s mode", strings.Join(names, " or ")),
			fmt.Sprintf("These stand where the others of a poller do, with `source__mode=%s`.", strings.ReplaceAll(strings.Join(names, "` or `source__mode="), " with ", "` with `")),
			settingsOf(pollerSettings, func(row setting) bool { return slices.Equal(row.modes, modes) }))
	}
	writeTable(&b, "An output", "Below `pollers__<poller>__output__` for the default output, and below `pollers__<poller>__outputs__<output>__` for further ones. "+
		"Each output has its own position, lease and document; a poller in outbox mode has the default output only.",
		outputSettings)
	_, err := io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("write the settings reference: %w", err)
	}
	return nil
}

// modeSets returns the sets of modes that rows of a table are for, in the table's order.
func modeSets(table []setting) [][]mode.Mode {
	var sets [][]mode.Mode
	for _, row := range table {
		if row.modes != nil && !slices.ContainsFunc(sets, func(s []mode.Mode) bool { return slices.Equal(s, row.modes) }) {
			sets = append(sets, row.modes)
		}
	}
	return sets
}

// settingsOf returns the rows of a table that are meant.
func settingsOf(table []setting, meant func(setting) bool) []setting {
	return slices.DeleteFunc(slices.Clone(table), func(row setting) bool { return !meant(row) })
}

func writeTable(b *strings.Builder, title, intro string, table []setting) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if intro != "" {
		fmt.Fprintf(b, "%s\n\n", intro)
	}
	b.WriteString("| setting | default | value | meaning |\n|---|---|---|---|\n")
	for _, row := range table {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", row.name, row.defaultText(), row.kind.Word,
			strings.ReplaceAll(row.doc, "|", `\|`))
	}
}

func (row setting) defaultText() string {
	text := "none"
	switch {
	case row.need:
		text = "required"
	case row.defText != "":
		text = row.defText
	case row.def != "":
		text = "`" + row.def + "`"
	}
	for _, m := range mode.All() {
		if def, ok := row.defIn[m]; ok {
			text += fmt.Sprintf("; %s: `%s`", m, def)
		}
	}
	return text
}
