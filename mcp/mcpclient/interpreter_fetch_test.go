package mcpclient

import "testing"

func TestFetches(t *testing.T) {
	for command, want := range map[string]bool{
		"npx": true, "/usr/bin/uvx": true, "NPM.CMD": true, "yarn": true, "docker": true, "python3.12": false, "./server": false, "env": false,
	} {
		if got := Fetches(command); got != want {
			t.Errorf("Fetches(%s) is %t", command, got)
		}
	}
}
