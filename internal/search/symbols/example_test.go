package symbols_test

import (
	"fmt"

	"github.com/tongs-ai/tongs/internal/search/symbols"
)

func ExampleIn() {
	text := "class Cart:\n    # adds up\n    def total(self):\n        return 0\n"
	for _, d := range symbols.In("shop/cart.py", []byte(text)) {
		fmt.Printf("%d-%d %s %s %q\n", d.Line, d.End, d.Kind, d.Name, d.Container)
	}
	// Output:
	// 1-4 class Cart ""
	// 3-4 method total "Cart"
}
