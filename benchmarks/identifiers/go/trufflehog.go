// Prints the tables of a folder of Go tests as JSON lines: folder, input, want.
//
// It reads *_test.go alone, by syntax: structs that name `input` and `want`, whose values are
// strings, constants, sums and fmt.Sprintf of these. Tests behind a build tag need secrets of the
// project's own and have no samples.
//
//	go run trufflehog.go FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type names map[string]ast.Expr

type row struct {
	Kind  string   `json:"kind"`
	Input string   `json:"input"`
	Want  []string `json:"want"`
}

// text evaluates an expression whose value is known without running the test.
func (known names) text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			return s, err == nil
		}
		return e.Value, e.Kind == token.INT
	case *ast.ParenExpr:
		return known.text(e.X)
	case *ast.Ident:
		if value, ok := known[e.Name]; ok && value != e {
			delete(known, e.Name) // a name defined by itself ends here
			defer func() { known[e.Name] = value }()
			return known.text(value)
		}
	case *ast.BinaryExpr:
		left, ok := known.text(e.X)
		right, also := known.text(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	case *ast.CallExpr:
		return known.call(e)
	}
	return "", false
}

func (known names) call(e *ast.CallExpr) (string, bool) {
	parts := []interface{}{}
	for _, argument := range e.Args {
		part, ok := known.text(argument)
		if !ok {
			return "", false
		}
		parts = append(parts, part)
	}
	function, ok := e.Fun.(*ast.SelectorExpr)
	if !ok || len(parts) == 0 {
		return "", false
	}
	switch function.Sel.Name {
	case "Sprintf":
		format := strings.ReplaceAll(parts[0].(string), "%d", "%s")
		return fmt.Sprintf(format, parts[1:]...), true
	case "Repeat":
		n, err := strconv.Atoi(parts[1].(string))
		return strings.Repeat(parts[0].(string), n), err == nil
	case "TrimSpace":
		return strings.TrimSpace(parts[0].(string)), true
	}
	return "", false
}

// list evaluates []string{...} and nil.
func (known names) list(e ast.Expr) ([]string, bool) {
	found := []string{}
	switch e := e.(type) {
	case *ast.Ident:
		if value, ok := known[e.Name]; ok && value != e {
			return known.list(value)
		}
		return found, e.Name == "nil"
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			value, ok := known.text(element)
			if !ok {
				return nil, false
			}
			found = append(found, value)
		}
		return found, true
	}
	return nil, false
}

// learn keeps the constants and variables that a node defines.
func (known names) learn(node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					known[name.Name] = n.Values[i]
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
					known[name.Name] = n.Rhs[i]
				}
			}
		}
		return true
	})
}

func (known names) rows(kind string, node ast.Node, print func(row)) {
	ast.Inspect(node, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		fields := names{}
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok {
					fields[key.Name] = pair.Value
				}
			}
		}
		if fields["input"] == nil {
			return true
		}
		input, ok := known.text(fields["input"])
		want, also := []string{}, true
		if fields["want"] != nil {
			want, also = known.list(fields["want"])
		}
		if ok && also {
			print(row{kind, input, want})
		}
		return true
	})
}

func main() {
	output := json.NewEncoder(os.Stdout)
	folders := map[string][]*ast.File{}
	order := []string{}
	err := filepath.WalkDir(os.Args[1], func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(source), "//go:build") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			return err
		}
		kind, _ := filepath.Rel(os.Args[1], filepath.Dir(path))
		if folders[kind] == nil {
			order = append(order, kind)
		}
		folders[kind] = append(folders[kind], file)
		return nil
	})
	if err != nil {
		panic(err)
	}
	for _, kind := range order {
		shared := names{}
		for _, file := range folders[kind] {
			for _, declaration := range file.Decls {
				if general, ok := declaration.(*ast.GenDecl); ok {
					shared.learn(general)
				}
			}
		}
		for _, file := range folders[kind] {
			for _, declaration := range file.Decls {
				known := names{}
				for name, value := range shared {
					known[name] = value
				}
				known.learn(declaration)
				known.rows(kind, declaration, func(r row) { _ = output.Encode(r) })
			}
		}
	}
}
