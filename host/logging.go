package host

import "strings"

// Logging is what host.json lets pass of a log.
type Logging struct {
	LogLevel            LogLevels `json:"logLevel"`
	ApplicationInsights struct {
		LogLevel LogLevels `json:"logLevel"`
	} `json:"applicationInsights"`
}

// LogLevels are the least levels that pass, by what a category begins with; "default" is every category.
type LogLevels map[string]string

// fold makes the categories lower case: the host's have no case.
func (l *Logging) fold() {
	for _, levels := range []*LogLevels{&l.LogLevel, &l.ApplicationInsights.LogLevel} {
		folded := LogLevels{}
		for category, level := range *levels {
			folded[strings.ToLower(category)] = level
		}
		*levels = folded
	}
}

// override takes an app setting's path below logging, in lower case.
func (l *Logging) override(path, value string) {
	if category, ok := strings.CutPrefix(path, "loglevel__"); ok {
		l.LogLevel[category] = value
	}
	if category, ok := strings.CutPrefix(path, "applicationinsights__loglevel__"); ok {
		l.ApplicationInsights.LogLevel[category] = value
	}
}

// Level is the least level of a category that reaches Application Insights, and the rule that says so, by .NET's order:
// a rule of the provider's own before the general ones, and the longest beginning of the category before the shorter.
// "" where no rule is written.
func (l *Logging) Level(category string) (level, rule string) {
	if rule, ok := l.ApplicationInsights.LogLevel.longest(category); ok {
		return l.ApplicationInsights.LogLevel[rule], "logging.applicationInsights.logLevel." + rule
	}
	if rule, ok := l.LogLevel.longest(category); ok {
		return l.LogLevel[rule], "logging.logLevel." + rule
	}
	return "", ""
}

// longest is the rule for a category.
func (l LogLevels) longest(category string) (rule string, found bool) {
	category = strings.ToLower(category)
	for beginning := range l {
		if beginning == "default" {
			continue
		}
		before, after, star := strings.Cut(beginning, "*")
		if strings.HasPrefix(category, before) && (!star || strings.HasSuffix(category, after)) &&
			(!found || len(beginning) > len(rule)) {
			rule, found = beginning, true
		}
	}
	if _, ok := l["default"]; ok && !found {
		return "default", true
	}
	return rule, found
}
