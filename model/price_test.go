package model_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/tongs-ai/tongs/model"
)

func TestPrice(t *testing.T) {
	tenth, more := 0.3, 3.75
	for _, test := range []struct {
		name  string
		price model.Price
		usage model.Usage
		want  float64
	}{
		{"plain", model.Price{Input: 3, Output: 15}, model.Usage{Input: 1e6, Output: 1e5}, 4.5},
		{"a cache at the price of input", model.Price{Input: 3, Output: 15}, model.Usage{Input: 1e6, CacheRead: 9e5, CacheWrite: 1e5}, 3},
		{"a cheap cache", model.Price{Input: 3, CacheRead: &tenth, CacheWrite: &more}, model.Usage{Input: 1e6, CacheRead: 8e5, CacheWrite: 1e5}, 0.3 + 0.24 + 0.375},
		{"counts that cannot be", model.Price{Input: 3}, model.Usage{Input: 1, CacheRead: 1e6}, 3},
		{"free", model.Price{}, model.Usage{Input: 1e9}, 0},
	} {
		if got := test.price.Cost(test.usage); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func ExamplePrice() {
	price := model.Price{Input: 3, Output: 15}
	fmt.Printf("%.2f\n", price.Cost(model.Usage{Input: 200_000, Output: 10_000}))
	// Output: 0.75
}
