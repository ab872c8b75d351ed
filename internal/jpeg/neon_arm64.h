// Instructions that the Go assembler has no names for, with the last operand for the result,
// as it has them. TestNEONWords compares with testdata/neon_words.txt, which says what each is.
// The assembler takes operators of one rank from the right: hence the parentheses.

#define MUL_8H(m, n, d) WORD $(0x4E609C00 | (m)<<16 | (n)<<5 | (d))

// Of a pair, the first takes the lower halves of the registers, the second the upper ones.
#define SADDL(m, n, d) WORD $(0x0E600000 | (m)<<16 | (n)<<5 | (d))
#define SADDL2(m, n, d) WORD $(0x4E600000 | (m)<<16 | (n)<<5 | (d))
#define SSUBL(m, n, d) WORD $(0x0E602000 | (m)<<16 | (n)<<5 | (d))
#define SSUBL2(m, n, d) WORD $(0x4E602000 | (m)<<16 | (n)<<5 | (d))
#define SADDW(m, n, d) WORD $(0x0E601000 | (m)<<16 | (n)<<5 | (d))
#define SADDW2(m, n, d) WORD $(0x4E601000 | (m)<<16 | (n)<<5 | (d))
#define SSUBW(m, n, d) WORD $(0x0E603000 | (m)<<16 | (n)<<5 | (d))
#define SSUBW2(m, n, d) WORD $(0x4E603000 | (m)<<16 | (n)<<5 | (d))
#define USUBL(m, n, d) WORD $(0x2E202000 | (m)<<16 | (n)<<5 | (d))
#define USUBL2(m, n, d) WORD $(0x6E202000 | (m)<<16 | (n)<<5 | (d))
#define UMLAL(m, n, d) WORD $(0x2E208000 | (m)<<16 | (n)<<5 | (d))
#define UMLAL2(m, n, d) WORD $(0x6E208000 | (m)<<16 | (n)<<5 | (d))

// Products with one element of the first 16 registers, which are counted through: element i
// of register m is 8·m + i. That of SQRDMULH is rounded after 15 bits of fraction.
#define ELEMENT(e) (((e)&4)<<9 | ((e)&2)<<20 | ((e)&1)<<20 | ((e)>>3)<<16)
#define SQRDMULH(e, n, d) WORD $(0x4F40D000 | ELEMENT(e) | (n)<<5 | (d))
#define SMULL(e, n, d) WORD $(0x0F40A000 | ELEMENT(e) | (n)<<5 | (d))
#define SMULL2(e, n, d) WORD $(0x4F40A000 | ELEMENT(e) | (n)<<5 | (d))
#define SMLAL(e, n, d) WORD $(0x0F402000 | ELEMENT(e) | (n)<<5 | (d))
#define SMLAL2(e, n, d) WORD $(0x4F402000 | ELEMENT(e) | (n)<<5 | (d))

// Products of the elements at the same places.
#define SMULLV(m, n, d) WORD $(0x0E60C000 | (m)<<16 | (n)<<5 | (d))
#define SMLALV2(m, n, d) WORD $(0x4E608000 | (m)<<16 | (n)<<5 | (d))

// Shifts to the left, by less than 16, into the next larger type.
#define SSHLL(shift, n, d) WORD $(0x0F10A400 | (shift)<<16 | (n)<<5 | (d))
#define SSHLL2(shift, n, d) WORD $(0x4F10A400 | (shift)<<16 | (n)<<5 | (d))

// The upper 16 bits of sums and differences.
#define ADDHN(m, n, d) WORD $(0x0E604000 | (m)<<16 | (n)<<5 | (d))
#define ADDHN2(m, n, d) WORD $(0x4E604000 | (m)<<16 | (n)<<5 | (d))
#define SUBHN(m, n, d) WORD $(0x0E606000 | (m)<<16 | (n)<<5 | (d))
#define SUBHN2(m, n, d) WORD $(0x4E606000 | (m)<<16 | (n)<<5 | (d))

// Shifts to the right into the next smaller type.
#define SQSHRN(shift, n, d) WORD $(0x0F009400 | (32-(shift))<<16 | (n)<<5 | (d))
#define SQSHRN2(shift, n, d) WORD $(0x4F009400 | (32-(shift))<<16 | (n)<<5 | (d))
#define SQRSHRN(shift, n, d) WORD $(0x0F009C00 | (32-(shift))<<16 | (n)<<5 | (d))
#define SQRSHRN2(shift, n, d) WORD $(0x4F009C00 | (32-(shift))<<16 | (n)<<5 | (d))
#define SQSHRUN(shift, n, d) WORD $(0x2F008400 | (16-(shift))<<16 | (n)<<5 | (d))
#define SQSHRUN2(shift, n, d) WORD $(0x6F008400 | (16-(shift))<<16 | (n)<<5 | (d))
#define SQXTUN(n, d) WORD $(0x2E212800 | (n)<<5 | (d))
#define SQXTUN2(n, d) WORD $(0x6E212800 | (n)<<5 | (d))
