package config

import (
	"encoding/base64"
	"net"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/config/kind"
)

var (
	settingName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,79}$`)
	azureName    = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)
	appNameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	offsetForm   = regexp.MustCompile(`^([+-])(\d{2}):?(\d{2})?$`)
	secretPrefix = "whsec_"
)

// connectionName takes the name of another setting. What is no name is most likely the connection string itself: it is
// never printed.
var connectionName = kind.Kind{Word: "name of a setting", Example: "ORDERS_DB", Hidden: true,
	Parse: func(s string) (any, *kind.Flaw) {
		if !settingName.MatchString(s) {
			return nil, kind.Wrong("holds a connection string, or something else that is no name, where the name of a setting belongs",
				"Put the connection string into a setting of its own, such as ORDERS_DB, and write that name here, without percent signs")
		}
		return s, nil
	}}

// secretText takes any value and never shows it.
var secretText = kind.Kind{Word: "secret", Hidden: true,
	Parse: func(s string) (any, *kind.Flaw) { return Secret(s), nil }}

var headerValue = kind.Kind{Word: "secret", Hidden: true, Parse: func(s string) (any, *kind.Flaw) {
	for _, r := range s {
		if (r < ' ' && r != '\t') || r == 0x7f {
			return nil, kind.Wrong("holds a control character, which no header can carry",
				"Remove line breaks and the like from the value")
		}
	}
	return Secret(s), nil
}}

// signingSecret takes what Standard Webhooks calls a symmetric secret.
var signingSecret = kind.Kind{Word: "secret", Hidden: true, Parse: func(s string) (any, *kind.Flaw) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, secretPrefix))
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, kind.Wrong("is not a signing secret of Standard Webhooks",
			"Write whsec_ followed by the base64 of 24 to 64 random bytes, which `openssl rand -base64 32` makes")
	}
	return Secret(s), nil
}}

var containerName = azureResource("container", "db-state")

var queueName = azureResource("queue", "orders")

// azureResource takes the names that Azure Storage allows for containers and queues.
func azureResource(what, example string) kind.Kind {
	return kind.Kind{Word: "name of a " + what, Example: example, Parse: func(s string) (any, *kind.Flaw) {
		if len(s) < 3 || len(s) > 63 || !azureName.MatchString(s) {
			return nil, kind.Wrong("is no name that Azure Storage allows for a "+what,
				"Write 3 to 63 lower-case letters, digits and single hyphens, such as "+example)
		}
		return s, nil
	}}
}

// eventType takes what CloudEvents takes as a type: its placeholders are for [checkType].
var eventType = kind.Kind{Word: "text", Example: "com.example.order.{op}", Parse: func(s string) (any, *kind.Flaw) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, kind.Wrong("holds a space, or a character that is not ASCII",
			"Write a name with dots, such as com.example.order.{op}")
	}
	return s, nil
}}

// eventSource takes a URI-reference (RFC 3986), which a CloudEvent's source is.
var eventSource = kind.Kind{Word: "URI or part of one", Example: "https://example.com/shop",
	Parse: func(s string) (any, *kind.Flaw) {
		_, err := url.Parse(s)
		if err != nil || strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{}|", r)
		}) {
			return nil, kind.Wrong("is no URI-reference",
				"Write such as https://example.com/shop or /shop/orders; percent-encode what a URI does not hold")
		}
		return s, nil
	}}

var appName = kind.Kind{Word: "name", Example: "shop-relay", Parse: func(s string) (any, *kind.Flaw) {
	if !appNameForm.MatchString(s) {
		return nil, kind.Wrong("is not usable as a part of a document's name",
			"Write up to 64 letters, digits, dots, hyphens and underscores, such as shop-relay")
	}
	return s, nil
}}

var listenAddress = kind.Kind{Word: "host:port", Example: "127.0.0.1:7878", Parse: func(s string) (any, *kind.Flaw) {
	_, port, err := net.SplitHostPort(s)
	if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n > 65535 {
		return nil, kind.Wrong("is not an address to listen on", "Write host:port, such as 127.0.0.1:7878")
	}
	return s, nil
}}

// isPort reports whether a URL's port can be dialled; one may be left out.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// httpURL takes absolute http and https URLs. They may carry keys, so they are not printed.
var httpURL = kind.Kind{Word: "URL", Example: "https://example.com/hooks/orders", Hidden: true,
	Parse: func(s string) (any, *kind.Flaw) {
		const mend = "Write the whole URL, such as https://example.com/hooks/orders; a percent sign in it is written %%"
		u, err := url.Parse(s)
		switch {
		case err != nil:
			return nil, kind.Wrong("is not a URL", mend)
		case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
			return nil, kind.Wrong("is not an absolute http or https URL", mend)
		case !isPort(u.Port()):
			return nil, kind.Wrong("has a port that no host has", "Write a port from 1 to 65535")
		case u.Fragment != "":
			return nil, kind.Wrong("has a fragment (#…), which is never sent", "Remove the part from # on")
		}
		return Address(s), nil
	}}

// requestRate takes 500/s; its value is the time from one request to the next.
var requestRate = kind.Kind{Word: "number of requests/s, /m or /h", Example: "500/s",
	Parse: func(s string) (any, *kind.Flaw) {
		number, unit, _ := strings.Cut(s, "/")
		n, err := strconv.ParseUint(number, 10, 32)
		each := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
		if err != nil || n == 0 || n > 100_000 || each == 0 {
			return nil, kind.Wrong("is no rate", "Write a number from 1 to 100000 and its unit, such as 500/s, 30/m or 1000/h")
		}
		return each / time.Duration(n), nil
	}}

// operationName takes what an event can say that happened to its row.
func operationName(key string) (string, *kind.Flaw) {
	words := []string{"upsert", "insert", "update", "delete"}
	if slices.Contains(words, key) {
		return key, nil
	}
	return "", kind.Wrong("names no operation", "Write one of "+strings.Join(words, ", "))
}

// columnName takes a member's name as it is, in lower case.
func columnName(key string) (string, *kind.Flaw) { return key, nil }

var startText = kind.Kind{Word: "earliest, latest, or a cursor value", Example: "latest",
	Parse: func(s string) (any, *kind.Flaw) {
		for _, word := range []string{"earliest", "latest", "snapshot"} {
			if strings.EqualFold(s, word) {
				return word, nil
			}
		}
		return s, nil
	}}

var timeZone = kind.Kind{Word: "time zone", Example: "Europe/Berlin", Parse: func(s string) (any, *kind.Flaw) {
	if _, ok := location(s); !ok {
		return nil, kind.Wrong("is no time zone", "Write an IANA name such as Europe/Berlin, an offset such as +02:00, or UTC")
	}
	return s, nil
}}

// location reads an IANA name or an offset. "Local" is refused: it would mean another zone on another machine.
func location(s string) (*time.Location, bool) {
	if strings.EqualFold(s, "UTC") || strings.EqualFold(s, "Z") {
		return time.UTC, true
	}
	if m := offsetForm.FindStringSubmatch(s); m != nil {
		hours, _ := strconv.Atoi(m[2])   // two digits by the form
		minutes, _ := strconv.Atoi(m[3]) // two digits or none
		if hours > 14 || minutes > 59 {
			return nil, false
		}
		seconds := hours*3600 + minutes*60
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone(s, seconds), true
	}
	if strings.EqualFold(s, "Local") {
		return nil, false
	}
	loc, err := time.LoadLocation(s)
	return loc, err == nil
}

// scheduleOrNone takes an NCRONTAB text, which whoever follows the schedule parses; "none" becomes "".
var scheduleOrNone = kind.Kind{Word: "an NCRONTAB schedule, or none", Example: "0 0 3 * * *",
	Parse: func(s string) (any, *kind.Flaw) {
		if strings.EqualFold(s, "none") {
			return "", nil
		}
		return s, nil
	}}

// queryText and conditionText are read once the engine is known: see checkSource.
var queryText = kind.Text("SELECT", "SELECT id, total, updated_at FROM orders")

var conditionText = kind.Text("SQL condition", "region = 'EU'")

// roles are what a column of an outbox can be for: source__map__<role>.
var roles = []string{
	"id", "seq", "aggregate_type", "aggregate_id", "event_type", "payload", "created_at", "published", "published_at",
	"state", "attempts", "next_attempt_at", "last_error", "bucket", "idempotency_key", "traceparent", "tracestate",
	"available_at", "expires_at",
}

// roleOptions are what else source__map__ says of a table.
var roleOptions = []string{"pending", "done", "on_published"}

// roleName takes the name of a role or option.
func roleName(key string) (string, *kind.Flaw) {
	if slices.Contains(roles, key) || slices.Contains(roleOptions, key) {
		return key, nil
	}
	return "", kind.Wrong("names no role of an outbox's column",
		"Write one of "+strings.Join(slices.Concat(roles, roleOptions), ", "))
}

func codeList(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// headerName turns x_api_key into X-Api-Key.
func headerName(key string) (string, *kind.Flaw) {
	name := textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(key, "_", "-"))
	if !headerForm.MatchString(name) {
		return "", kind.Wrong("names a header with a character that no header has",
			"Write letters, digits and _ (which stands for -), such as headers__X_Api_Key")
	}
	if slices.Contains(reservedHeaders, name) || strings.HasPrefix(name, "Rowrelay-") {
		return "", kind.Wrong("sets "+name+", which Rowrelay sets itself", "Remove it")
	}
	return name, nil
}

// reservedHeaders are set by Rowrelay or by the protocol.
var reservedHeaders = []string{"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host",
	"Idempotency-Key",
	"Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp"}

var headerForm = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)
