//go:build !linux

package sandbox

import (
	"context"
	"os"
)

func (r *Runner) probeOverlay(context.Context, string, string) OverlayStatus {
	return OverlayStatus{
		Reason: "overlays exist on Linux only",
		Fix:    "Commands write directly here; run Tongs in a Linux virtual machine for outcome runs.",
	}
}

func removeLayers(dir string) error { return os.RemoveAll(dir) }
