package sandbox

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

// warm compiles packages of the standard library as a test needs them, and checks that they can be used.
const warm = `set -e
mkdir -p "$TMPDIR/warm"
cd "$TMPDIR/warm"
printf 'module warm\n\ngo 1.21\n' > go.mod
{
	printf 'package warm\n\nimport (\n\t"testing"\n'
	go list "$@" | grep -v -E '(^|/)(internal|vendor)(/|$)|^testing$' | sed 's/.*/\t_ "&"/'
	printf ')\n\nfunc Test(*testing.T) {}\n'
} > warm_test.go
nice -n 19 go test .
`

// warmTime is how long that may take.
const warmTime = 30 * time.Minute

// Warm fills a toolchain's cache, at low priority, without a workspace and without a network. It returns at once where that is
// done already, or where another process does it.
func (r *Runner) Warm(ctx context.Context, c Cache) error { return r.warm(ctx, c, "std") }

func (r *Runner) warm(ctx context.Context, c Cache, packages ...string) error {
	if c.owner != CacheToolchain {
		return tongs.Errorf(tongs.CodeInternal, "the %s cache is no toolchain's", c.owner)
	}
	if c.Ready() {
		return nil
	}
	if err := c.make(); err != nil {
		return err
	}
	lock, err := lockDir(c.dir)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	pol := Default("/tmp", PresetOptions{Cache: c, Presets: []string{"go"}})
	pol.Limits.Wall, pol.Require = warmTime, Properties()
	var out strings.Builder
	res, err := r.Run(ctx, &Cmd{Argv: append([]string{"sh", "-c", warm, "warm"}, packages...), Policy: pol, Stdout: &out, Stderr: &out})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return tongs.Errorf(tongs.CodeExecutionError, "the standard library could not be compiled beforehand: exit code %d\n%s", res.ExitCode, out.String())
	}
	return os.WriteFile(mark(c.dir), nil, 0o600)
}
