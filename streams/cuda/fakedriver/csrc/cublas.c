// cuBLAS on the fake driver: handles, which work in the context in which they were
// made, and the product of matrices.
#include <stdlib.h>
#include "launch.h"

enum { INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

typedef struct {
	uint64_t stream;
	void *context; // 0 stands for the primary one
} handle;

typedef struct {
	int transA, transB, m, n, k, lda, ldb, ldc;
	float alpha, beta;
} product;

int cublasCreate_v2(handle **h) {
	*h = calloc(1, sizeof **h); // on the default stream
	(*h)->context = fakeContext();
	return 0;
}

int cublasDestroy_v2(handle *h) {
	free(h);
	return 0;
}

static void multiply(char **bytes, const void *argument) {
	const product *p = argument;
	const float *a = (const float *)bytes[0], *b = (const float *)bytes[1];
	float *c = (float *)bytes[2];
	for (int j = 0; j < p->n; j++)
		for (int i = 0; i < p->m; i++) {
			float sum = 0;
			for (int l = 0; l < p->k; l++)
				sum += a[p->transA ? l + i * p->lda : i + l * p->lda] * b[p->transB ? j + l * p->ldb : l + j * p->ldb];
			float *at = &c[i + j * p->ldc];
			*at = p->alpha * sum + (p->beta ? p->beta * *at : 0);
		}
}

// extent returns the bytes of a matrix by columns.
static size_t extent(int rows, int columns, int lead) { return sizeof(float) * ((size_t)lead * (columns - 1) + rows); }

int cublasSgemm_v2(handle *h, int transA, int transB, int m, int n, int k, const float *alpha, uint64_t a, int lda,
                   uint64_t b, int ldb, const float *beta, uint64_t c, int ldc) {
	product p = {transA, transB, m, n, k, lda, ldb, ldc, *alpha, *beta};
	fake_access access[] = {
		{a, transA ? extent(k, m, lda) : extent(m, k, lda), 0},
		{b, transB ? extent(n, k, ldb) : extent(k, n, ldb), 0},
		{c, extent(m, n, ldc), 1},
	};
	if (h->context != fakeContext()) return INVALID_VALUE;
	return fakeLaunch(h->stream, "cublasSgemm", multiply, &p, sizeof p, 3, access) ? EXECUTION_FAILED : 0;
}
