// Package config holds of gitleaks' own package what its rules name.
package config

import (
	"strings"

	"github.com/zricethezav/gitleaks/v8/regexp"
)

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

// ContainsStopWord reports whether a secret has one of the words in it, and which.
func (a *Allowlist) ContainsStopWord(secret string) (bool, string) {
	for _, word := range a.StopWords {
		if strings.Contains(strings.ToLower(secret), word) {
			return true, word
		}
	}
	return false, ""
}
