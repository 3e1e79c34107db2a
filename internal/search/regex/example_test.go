package regex_test

import (
	"errors"
	"fmt"

	"github.com/tongs-ai/tongs/internal/search/regex"
)

func ExampleScanner_Next() {
	m, err := regex.Compile(`err(or)?s?\b`, regex.Options{Fold: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := []byte("if err != nil {\n\treturn nil, Errors\n}\n")
	s := m.Scanner()
	defer s.Release()
	for s.Reset(text); ; {
		start, end, ok := s.Next()
		if !ok {
			break
		}
		fmt.Printf("%q\n", text[start:end])
	}
	// Output:
	// "if err != nil {"
	// "\treturn nil, Errors"
}

func ExampleSyntaxError_Pointer() {
	_, err := regex.Compile("func main(", regex.Options{})
	if e, ok := errors.AsType[*regex.SyntaxError](err); ok {
		fmt.Println(e)
		fmt.Println(e.Pointer())
	}
	// Output:
	// missing closing ) at "(", character 10
	// func main(
	//          ^
}
