// Instructions that the Go assembler has no names for, with the last operand for the result,
// as it has them. TestNEONWords compares with testdata/neon_words.txt, which says what each is.
// The assembler takes operators of one rank from the right: hence the parentheses. All but
// FADDP are of four numbers.

#define FMUL(m, n, d) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
#define FADD(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
#define FSUB(m, n, d) WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d))
#define FMAX(m, n, d) WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d))
#define FMIN(m, n, d) WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))

// FMULE multiplies with element i of register m.
#define FMULE(m, i, n, d) WORD $(0x4F809000 | ((i)&2)<<10 | ((i)&1)<<21 | (m)<<16 | (n)<<5 | (d))

// FADDP adds the lower two numbers of n.
#define FADDP(n, d) WORD $(0x7E30D800 | (n)<<5 | (d))

// Between numbers and integers.
#define SCVTF(n, d) WORD $(0x4E21D800 | (n)<<5 | (d))
#define FCVTZS(n, d) WORD $(0x4EA1B800 | (n)<<5 | (d))

// LOADQ reads 16 bytes at the sum of two ordinary registers into d.
#define LOADQ(m, n, d) WORD $(0x3CE06800 | (m)<<16 | (n)<<5 | (d))
