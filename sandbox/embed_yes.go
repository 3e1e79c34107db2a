//go:build tongslauncher && linux

package sandbox

import _ "embed"

// embedded is the launcher, built by `make build`. It is in the build only under its tag, so that tests never run one
// that is older than the code.
//
//go:embed launcher.bin
var embedded string
