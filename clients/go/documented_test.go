package magistrate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"
)

func TestEverythingExportedIsDocumented(t *testing.T) {
	isSource := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	files := token.NewFileSet()
	packages, err := parser.ParseDir(files, ".", isSource, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	demand := func(name *ast.Ident, comments ...*ast.CommentGroup) {
		if !name.IsExported() {
			return
		}
		count++
		for _, comment := range comments {
			if comment != nil {
				return
			}
		}
		t.Errorf("%s: %s has no comment", files.Position(name.Pos()), name.Name)
	}
	for _, file := range packages["magistrate"].Files {
		for _, declaration := range file.Decls {
			switch declared := declaration.(type) {
			case *ast.FuncDecl:
				demand(declared.Name, declared.Doc)
			case *ast.GenDecl:
				for _, spec := range declared.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						demand(spec.Name, declared.Doc, spec.Doc)
					case *ast.ValueSpec:
						demand(spec.Names[0], spec.Doc, declared.Doc)
					}
				}
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d names were found", count)
	}
}
