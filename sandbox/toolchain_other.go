//go:build !linux

package sandbox

import "context"

// Warm fills a toolchain's cache. Here no program reads one through a layer, so that nothing is done.
func (r *Runner) Warm(context.Context, Cache) error { return nil }
