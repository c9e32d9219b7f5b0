// Package secrets draws strings that match a regular expression, the same ones in every run.
package secrets

import (
	"hash/fnv"
	"math/rand"
	"regexp/syntax"
	"strings"
)

var calls int64

// NewSecret returns a string that matches; open repetitions end at once, as in gitleaks' own.
func NewSecret(regex string) string {
	tree, err := syntax.Parse(regex, syntax.Perl)
	if err != nil {
		panic(err)
	}
	hash := fnv.New64a()
	hash.Write([]byte(regex))
	calls++
	var drawn strings.Builder
	write(&drawn, tree, rand.New(rand.NewSource(int64(hash.Sum64())+calls)))
	return drawn.String()
}

func write(drawn *strings.Builder, node *syntax.Regexp, source *rand.Rand) {
	times, least, most := 1, node.Min, node.Max
	switch node.Op {
	case syntax.OpLiteral:
		drawn.WriteString(string(node.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		drawn.WriteByte(character(node, source))
	case syntax.OpAlternate:
		write(drawn, node.Sub[source.Intn(len(node.Sub))], source)
		return
	case syntax.OpStar, syntax.OpQuest:
		least, most = 0, 1
	case syntax.OpPlus:
		least, most = 1, 1
	}
	switch node.Op {
	case syntax.OpRepeat, syntax.OpStar, syntax.OpQuest, syntax.OpPlus:
		if most < least {
			most = least
		}
		times = least + source.Intn(most-least+1)
	}
	for ; times > 0; times-- {
		for _, part := range node.Sub {
			write(drawn, part, source)
		}
	}
}

// character draws one of the printable ASCII characters that a class has.
func character(node *syntax.Regexp, source *rand.Rand) byte {
	fitting := []byte{}
	for c := rune(' '); c <= '~'; c++ {
		fits := node.Op != syntax.OpCharClass
		for i := 0; i+1 < len(node.Rune); i += 2 {
			fits = fits || node.Rune[i] <= c && c <= node.Rune[i+1]
		}
		if fits {
			fitting = append(fitting, byte(c))
		}
	}
	return fitting[source.Intn(len(fitting))]
}
