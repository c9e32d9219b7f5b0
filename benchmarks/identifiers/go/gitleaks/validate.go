package utils

import (
	"encoding/json"
	"math"
	"os"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
)

type sample struct {
	Kind    string   `json:"kind"`
	Text    string   `json:"text"`
	Alarm   bool     `json:"alarm"`
	Secrets []string `json:"secrets"`
}

var output = json.NewEncoder(os.Stdout)

// Validate prints the samples of a rule instead of testing them.
func Validate(rule config.Rule, positives []string, negatives []string) *config.Rule {
	for _, text := range positives {
		_ = output.Encode(sample{rule.RuleID, text, false, secrets(rule, text)})
	}
	for _, text := range negatives {
		_ = output.Encode(sample{rule.RuleID, text, true, nil})
	}
	return &rule
}

// ValidateWithPaths prints the samples of a rule that also looks at file names.
func ValidateWithPaths(rule config.Rule, positives, negatives map[string]string) *config.Rule {
	return Validate(rule, values(positives), values(negatives))
}

func values(named map[string]string) []string {
	found := []string{}
	for _, value := range named {
		found = append(found, value)
	}
	return found
}

// secrets returns what gitleaks reports as the secret: the rule's group, or the first with text.
func secrets(rule config.Rule, text string) []string {
	found := []string{}
	if rule.Regex == nil {
		return found
	}
	for _, groups := range rule.Regex.FindAllStringSubmatch(text, -1) {
		secret := strings.Trim(groups[0], "\n")
		if rule.SecretGroup > 0 {
			secret = groups[rule.SecretGroup]
		} else {
			for _, group := range groups[1:] {
				if group != "" {
					secret = group
					break
				}
			}
		}
		if entropy(secret) > rule.Entropy || rule.Entropy == 0 {
			found = append(found, secret)
		}
	}
	return found
}

func entropy(text string) float64 {
	counts, bits := map[rune]float64{}, 0.0
	for _, character := range text {
		counts[character]++
	}
	for _, count := range counts {
		share := count / float64(len(text))
		bits -= share * math.Log2(share)
	}
	return bits
}
