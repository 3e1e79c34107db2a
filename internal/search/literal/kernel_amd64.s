#include "textflag.h"

// func indexPair(a, b *byte, n int, av, am, bv, bm byte) int
//
// Each round compares 64 places: two registers of 32 bytes from a and the same from b. A place is a hit where both
// bytes, with the bits of their masks set, equal their values. The last round is moved back so that it ends with the
// last place; what it compares twice was no hit the first time.
TEXT ·indexPair(SB), NOSPLIT, $0-40
	MOVQ         a+0(FP), SI
	MOVQ         b+8(FP), DI
	MOVQ         n+16(FP), CX
	VPBROADCASTB av+24(FP), Y0
	VPBROADCASTB am+25(FP), Y1
	VPBROADCASTB bv+26(FP), Y2
	VPBROADCASTB bm+27(FP), Y3
	XORQ         AX, AX       // the place at which the round starts
	MOVQ         CX, R8
	SUBQ         $64, R8      // the last place at which a whole round can start
	JB           half

round:
	VPOR     (SI)(AX*1), Y1, Y4
	VPOR     (DI)(AX*1), Y3, Y5
	VPOR     32(SI)(AX*1), Y1, Y6
	VPOR     32(DI)(AX*1), Y3, Y7
	VPCMPEQB Y0, Y4, Y4
	VPCMPEQB Y2, Y5, Y5
	VPCMPEQB Y0, Y6, Y6
	VPCMPEQB Y2, Y7, Y7
	VPAND    Y4, Y5, Y4
	VPAND    Y6, Y7, Y6
	VPOR     Y4, Y6, Y8
	VPTEST   Y8, Y8
	JNZ      hit
	ADDQ     $64, AX
	CMPQ     AX, R8
	JBE      round
	CMPQ     AX, CX
	JAE      none
	MOVQ     R8, AX           // the last round: moved back
	JMP      round

hit:
	VPMOVMSKB Y4, R9
	VPMOVMSKB Y6, R10
	SHLQ      $32, R10
	ORQ       R10, R9
	TZCNTQ    R9, R9
	ADDQ      R9, AX
	VZEROUPPER
	MOVQ      AX, ret+32(FP)
	RET

// Fewer than 64 places, but at least 32: two overlapping halves.
half:
	VPOR      (SI), Y1, Y4
	VPOR      (DI), Y3, Y5
	VPOR      -32(SI)(CX*1), Y1, Y6
	VPOR      -32(DI)(CX*1), Y3, Y7
	VPCMPEQB  Y0, Y4, Y4
	VPCMPEQB  Y2, Y5, Y5
	VPCMPEQB  Y0, Y6, Y6
	VPCMPEQB  Y2, Y7, Y7
	VPAND     Y4, Y5, Y4
	VPAND     Y6, Y7, Y6
	VPMOVMSKB Y4, R9
	VPMOVMSKB Y6, R10
	VZEROUPPER
	TESTL     R9, R9
	JNZ       low
	TESTL     R10, R10
	JZ        absent
	TZCNTL    R10, R9
	LEAQ      -32(CX)(R9*1), AX
	MOVQ      AX, ret+32(FP)
	RET

low:
	TZCNTL R9, R9
	MOVQ   R9, ret+32(FP)
	RET

none:
	VZEROUPPER

absent:
	MOVQ $-1, ret+32(FP)
	RET

// func indexPrint(p *byte, n int, halves *[6][16]byte) int
//
// Each round looks at 32 places. The text is loaded three times, each time one byte further, so that the bytes of a
// fingerprint stand in the same lane of three registers. Each byte is cut into its low and its high half; a shuffle
// looks all 32 of them up in a table of 16. What is left after six tables were combined is, lane by lane, the buckets of
// which a fingerprint may begin there. The last round is moved back so that it ends with the last place.
TEXT ·indexPrint(SB), NOSPLIT, $0-32
	MOVQ           p+0(FP), SI
	MOVQ           n+8(FP), CX
	MOVQ           halves+16(FP), DX
	VBROADCASTI128 (DX), Y0
	VBROADCASTI128 16(DX), Y1
	VBROADCASTI128 32(DX), Y2
	VBROADCASTI128 48(DX), Y3
	VBROADCASTI128 64(DX), Y4
	VBROADCASTI128 80(DX), Y5
	MOVL           $0x0f0f0f0f, AX
	MOVQ           AX, X6
	VPBROADCASTD   X6, Y6       // the low half of each byte
	VPXOR          Y7, Y7, Y7
	MOVQ           CX, R8
	SUBQ           $32, R8      // the last place at which a round can start
	XORQ           AX, AX

look:
	VMOVDQU (SI)(AX*1), Y8
	VMOVDQU 1(SI)(AX*1), Y9
	VMOVDQU 2(SI)(AX*1), Y10
	VPSRLW  $4, Y8, Y11
	VPSRLW  $4, Y9, Y12
	VPSRLW  $4, Y10, Y13
	VPAND   Y6, Y8, Y8
	VPAND   Y6, Y9, Y9
	VPAND   Y6, Y10, Y10
	VPAND   Y6, Y11, Y11
	VPAND   Y6, Y12, Y12
	VPAND   Y6, Y13, Y13
	VPSHUFB Y8, Y0, Y8
	VPSHUFB Y11, Y1, Y11
	VPSHUFB Y9, Y2, Y9
	VPSHUFB Y12, Y3, Y12
	VPSHUFB Y10, Y4, Y10
	VPSHUFB Y13, Y5, Y13
	VPAND   Y8, Y11, Y8
	VPAND   Y9, Y12, Y9
	VPAND   Y10, Y13, Y10
	VPAND   Y8, Y9, Y8
	VPAND   Y8, Y10, Y8
	VPTEST  Y8, Y8
	JNZ     seen
	ADDQ    $32, AX
	CMPQ    AX, R8
	JLE     look
	CMPQ    AX, CX
	JAE     unseen
	MOVQ    R8, AX           // the last round: moved back
	JMP     look

seen:
	VPCMPEQB  Y7, Y8, Y8
	VPMOVMSKB Y8, R9
	NOTL      R9
	TZCNTL    R9, R9
	ADDQ      R9, AX
	VZEROUPPER
	MOVQ      AX, ret+24(FP)
	RET

unseen:
	VZEROUPPER
	MOVQ $-1, ret+24(FP)
	RET
