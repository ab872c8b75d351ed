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

// MLAE adds the products of integers with element i of register m.
#define MLAE(m, i, n, d) WORD $(0x6F800000 | ((i)&2)<<10 | ((i)&1)<<21 | (m)<<16 | (n)<<5 | (d))

// COPY moves a whole register.
#define COPY(n, d) WORD $(0x4EA01C00 | (n)<<16 | (n)<<5 | (d))

// Shifts to the right by as many bits as the name says: of integers, from 32 to 16 bits without
// a sign, and from 16 to 8, which saturate. Those named _2 write the upper half of d.
#define SSHR20(n, d) WORD $(0x4F2C0400 | (n)<<5 | (d))
#define SQSHRUN16(n, d) WORD $(0x2F108400 | (n)<<5 | (d))
#define SQSHRUN16_2(n, d) WORD $(0x6F108400 | (n)<<5 | (d))
#define UQSHRN4(n, d) WORD $(0x2F0C9400 | (n)<<5 | (d))
#define UQSHRN4_2(n, d) WORD $(0x6F0C9400 | (n)<<5 | (d))
