// Package config holds of gitleaks' own package what its rules name.
package config

import "github.com/zricethezav/gitleaks/v8/regexp"

type Rule struct {
	RuleID, Description string
	Entropy             float64
	SecretGroup         int
	Regex, Path         *regexp.Regexp
	Keywords            []string
	Allowlists          []*Allowlist
}

type Allowlist struct {
	Description, RegexTarget string
	MatchCondition           int
	StopWords                []string
	Paths, Regexes           []*regexp.Regexp
}

const (
	AllowlistMatchOr = iota
	AllowlistMatchAnd
)

// ContainsStopWord lets every drawn secret pass: no rule is tested here.
func (*Allowlist) ContainsStopWord(string) (bool, string) { return false, "" }
