package literal_test

import (
	"fmt"

	"github.com/tongs-ai/tongs/internal/search/literal"
)

func ExampleFinder_Find() {
	f := literal.New("kelvin", true)
	text := []byte("273.15 \u212aelvin is 0 Celsius")
	start, end := f.Find(text)
	fmt.Printf("%d to %d: %+q\n", start, end, text[start:end])
	// Output: 7 to 15: "\u212aelvin"
}
