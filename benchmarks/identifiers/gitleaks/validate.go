package utils

import (
	"encoding/json"
	"os"

	"github.com/zricethezav/gitleaks/v8/config"
)

// Validate prints the samples of a rule instead of testing them.
func Validate(rule config.Rule, positives []string, negatives []string) *config.Rule {
	for _, text := range positives {
		print(rule.RuleID, text, false, secrets(rule, text))
	}
	for _, text := range negatives {
		print(rule.RuleID, text, true, []string{})
	}
	return &rule
}

// ValidateWithPaths prints the samples of a rule that also looks at the names of files.
func ValidateWithPaths(rule config.Rule, positives, negatives map[string]string) *config.Rule {
	for _, text := range positives {
		Validate(rule, []string{text}, nil)
	}
	for _, text := range negatives {
		Validate(rule, nil, []string{text})
	}
	return &rule
}

func print(kind, text string, negative bool, secrets []string) {
	row := map[string]any{"kind": kind, "text": text, "negative": negative, "secrets": secrets}
	if err := json.NewEncoder(os.Stdout).Encode(row); err != nil {
		panic(err)
	}
}

// secrets returns what gitleaks reports as the secret: the rule's group, or the first with text.
func secrets(rule config.Rule, text string) []string {
	found := []string{}
	if rule.Regex == nil { // a rule for names of files alone
		return found
	}
	for _, groups := range rule.Regex.FindAllStringSubmatch(text, -1) {
		secret := groups[rule.SecretGroup]
		for i := 1; rule.SecretGroup == 0 && i < len(groups) && secret == groups[0]; i++ {
			if groups[i] != "" {
				secret = groups[i]
			}
		}
		found = append(found, secret)
	}
	return found
}
