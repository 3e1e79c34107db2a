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
