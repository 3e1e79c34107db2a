//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "clients: running without network needs Linux's namespaces")
	os.Exit(1)
}
