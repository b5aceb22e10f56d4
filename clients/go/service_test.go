package magistrate_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"strings"
	"testing"
)

var examples = map[string]func(){
	"ExampleClient_Check":     ExampleClient_Check,
	"ExampleClient_CheckMany": ExampleClient_CheckMany,
	"ExampleClient_Require":   ExampleClient_Require,
	"ExampleClient_Objects":   ExampleClient_Objects,
	"ExampleClient_Write":     ExampleClient_Write,
	"ExampleClient_Watch":     ExampleClient_Watch,
}

// TestTheExamplesPrintWhatTheySay runs the examples against a service with the data of the example document-sharing.
func TestTheExamplesPrintWhatTheySay(t *testing.T) {
	if os.Getenv("MAGISTRATE_URL") == "" {
		t.Skip("it needs a service: tests/clients/test_go_client.py starts one")
	}
	said := readComments(t)
	for name, run := range examples {
		if printed := capture(t, run); printed != said[name] {
			t.Errorf("%s prints %q, and says %q", name, printed, said[name])
		}
	}
	if len(said) != len(examples) {
		t.Errorf("%d examples say what they print, and %d are run", len(said), len(examples))
	}
}

// readComments returns what each example says that it prints.
func readComments(t *testing.T) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "example_test.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, declaration := range file.Decls {
		function, isFunction := declaration.(*ast.FuncDecl)
		if !isFunction {
			continue
		}
		for _, comment := range file.Comments {
			if text, says := strings.CutPrefix(comment.Text(), "prints: "); says && comment.Pos() > function.Pos() && comment.End() < function.End() {
				said[function.Name.Name] = text
			}
		}
	}
	return said
}

// capture returns what a function prints.
func capture(t *testing.T, run func()) string {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	standard := os.Stdout
	os.Stdout = writer
	defer func() { os.Stdout = standard }()
	run()
	_ = writer.Close()
	var printed bytes.Buffer
	if _, err := io.Copy(&printed, reader); err != nil {
		t.Fatal(err)
	}
	return printed.String()
}
