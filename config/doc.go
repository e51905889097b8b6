// Package config turns app settings into a typed configuration, strictly, and says every fault at once.
//
// # Input
//
// [Load] takes the environment as KEY=VALUE strings, as os.Environ returns them. The standalone commands first add the
// Values of local.settings.json (package localsettings) with [Merge], as the Functions host would.
//
// # Names
//
// Names are nested by two underscores and read case-insensitively: STATE__KIND is state__kind. Two spellings of one
// setting are a fault. Everything below pollers__, defaults__, state__, log__ and status__ must be known, and names
// that look as if they were meant to be (poller__orders__batch_size, state_kind) are faults too, with the name that was
// probably meant.
// What stands below defaults__ is a setting of every poller that does not set it itself.
//
// All other variables belong to somebody else and are ignored.
//
// The tables in this package are the only place where a setting is described: from them come parsing, strictness,
// defaults and docs/settings.md ([WriteReference]). Settings of later capabilities stand in them too, so that they are
// told apart from mistakes.
//
// # Values
//
// Spaces around a value are dropped, and an empty value means that the setting is not set. %NAME% stands for another
// environment variable and %% for a percent sign; what comes in through %NAME% is not expanded again. Durations are
// Go's (30s, 1m30s), sizes are bytes or carry KiB, MiB or GiB, lists of columns are separated by commas with SQL's
// quotes allowed ("odd, name", [odd name], `odd name`).
//
// A connection is never in a setting of ours: ours holds the name of the setting that holds it, so that the string can
// live in a Key Vault. Connection strings are taken as they are, without %NAME%: in a URL the percent sign is taken.
//
// The value of a setting, or of a connection, may be in a file that NAME_FILE names: files.go.
//
// # Faults
//
// Load always returns an App. App.Faults stop every poller, Poller.Faults only that one: under the host a good poller
// runs while a bad one answers 500 with its faults. Each [Fault] names the setting as it was written, what is wrong,
// and the mend. No fault, and no way of printing an App, shows the value of a secret: see [Secret] and [Address].
package config

//go:generate go run ./internal/gen ../docs/settings.md
