//go:build !unix

package mcpserver_test

import "errors"

func mkfifo(string) error { return errors.New("no named pipes here") }
