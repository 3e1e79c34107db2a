//go:build !linux

package sandbox

import (
	"context"
	"os"
	"time"
)

func (r *Runner) probeOverlay(context.Context, string, string) OverlayStatus {
	return OverlayStatus{
		Reason: "overlays exist on Linux only",
		Fix:    "Commands write directly here; run Tongs in a Linux virtual machine for outcome runs.",
	}
}

func removeLayers(dir string) error { return os.RemoveAll(dir) }

// sizes is what a Runner remembers of the sizes of caches: nothing, for no program runs on a copy.
type sizes struct{}

func pruneSession(dir string, _ time.Time) error { return os.RemoveAll(dir) }
