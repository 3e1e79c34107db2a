//go:build !amd64

package literal

const kernelMin = 0

func hasKernel() bool { return false }

func (p *pair) kernel(b []byte, places int) int { return p.portable(b, places) }

func (p *prints) kernel(b []byte, places int) int { return p.portable(b, places) }
