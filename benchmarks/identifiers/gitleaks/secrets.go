// Package secrets draws strings that match a regular expression, the same ones in every run.
package secrets

import (
	"math/rand"
	"regexp/syntax"
	"strings"
)

var source = rand.New(rand.NewSource(39))

// NewSecret returns a string that matches; open repetitions end at once, as in gitleaks' own.
func NewSecret(regex string) string {
	tree, err := syntax.Parse(regex, syntax.Perl)
	if err != nil {
		panic(err)
	}
	var drawn strings.Builder
	write(&drawn, tree.Simplify())
	return drawn.String()
}

// write draws from a simplified tree, in which no repetition is counted.
func write(drawn *strings.Builder, node *syntax.Regexp) {
	parts := node.Sub
	switch node.Op {
	case syntax.OpLiteral:
		drawn.WriteString(string(node.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		drawn.WriteByte(character(node))
	case syntax.OpAlternate:
		at := source.Intn(len(parts))
		parts = parts[at : at+1]
	case syntax.OpStar, syntax.OpQuest:
		parts = parts[:source.Intn(2)]
	}
	for _, part := range parts {
		write(drawn, part)
	}
}

// character draws one of the printable ASCII characters that a class has.
func character(node *syntax.Regexp) byte {
	fitting := []byte{}
	for c := rune(' '); c <= '~'; c++ {
		fits := node.Op != syntax.OpCharClass
		for i := 0; i < len(node.Rune); i += 2 {
			fits = fits || node.Rune[i] <= c && c <= node.Rune[i+1]
		}
		if fits {
			fitting = append(fitting, byte(c))
		}
	}
	return fitting[source.Intn(len(fitting))]
}
