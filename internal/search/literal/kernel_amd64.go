package literal

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// kernelMin is how many places the kernel needs: the length of its registers.
const kernelMin = 32

func hasKernel() bool { return cpu.X86.HasAVX2 }

// kernel is index by AVX2, for at least kernelMin places.
func (p *pair) kernel(b []byte, places int) int {
	// The kernel reads places bytes from each of b[ao:] and b[bo:], no more: places+bo <= len(b).
	base := unsafe.Pointer(unsafe.SliceData(b))
	return indexPair((*byte)(unsafe.Add(base, p.ao)), (*byte)(unsafe.Add(base, p.bo)), places,
		p.a.value, p.a.mask, p.b.value, p.b.mask)
}

// indexPair returns the first i below n with a[i]|am == av and b[i]|bm == bv, or -1. It needs AVX2 and n >= 32.
//
//go:noescape
func indexPair(a, b *byte, n int, av, am, bv, bm byte) int

// kernel is index by AVX2, for at least kernelMin places.
func (p *prints) kernel(b []byte, places int) int {
	// The kernel reads places+2 bytes: len(b).
	return indexPrint(unsafe.SliceData(b), places, &p.halves)
}

// indexPrint returns the first i below n where the buckets of p[i], p[i+1] and p[i+2] share a bit, or -1. It may return a
// place where they share none, since it takes each byte for any of the same two halves. It needs AVX2 and n >= 32.
//
//go:noescape
func indexPrint(p *byte, n int, halves *[2 * printSize][16]byte) int
