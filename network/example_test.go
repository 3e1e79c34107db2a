package network_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/tongs-ai/tongs/network"
)

// A public name that leads inside is refused before anything is dialled.
func ExampleGuard_Connect() {
	guard := &network.Guard{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("10.0.0.7")}, nil
	}}
	target, err := network.ParseTarget("Files.Example.COM", 443)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(target)
	_, err = guard.Connect(context.Background(), target, network.Decision{})
	fmt.Println(err)
	// Output:
	// files.example.com:443
	// NETWORK_ERROR: files.example.com is 10.0.0.7, an address of this machine or network; allow that host by name if it is meant
}
