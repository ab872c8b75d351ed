// cuDNN for tests: convolutions of float32 pictures in planes, as Gorgonia calls them: of
// one group, without dilation. Beside the driver of a GPU there are handles alone.
//
// Gorgonia calls cuDNN on whatever thread its machine is on. A handle here works in the
// context in which it was made, whichever the thread has; cuDNN does not promise that.
#include <stdlib.h>
#include "../csrc/launch.h"

#pragma weak fakeContext
#pragma weak fakeLaunch

int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);

enum { NOT_INITIALIZED = 1, BAD_PARAM = 3, EXECUTION_FAILED = 8 };
enum { CONVOLUTION = 0 }; // the other mode is the cross-correlation

typedef struct {
	void *context;
} handle;

typedef struct {
	int n, c, h, w; // of a filter: outputs, inputs, height, width
} shape;

typedef struct {
	int pad[2], stride[2], mode;
} convolution;

int cudnnCreate(handle **h) {
	*h = malloc(sizeof **h);
	(*h)->context = fakeContext ? fakeContext() : NULL;
	return 0;
}

int cudnnDestroy(handle *h) {
	free(h);
	return 0;
}

int cudnnCreateTensorDescriptor(shape **s) {
	if (!fakeLaunch) return NOT_INITIALIZED;
	*s = calloc(1, sizeof **s);
	return 0;
}

int cudnnDestroyTensorDescriptor(shape *s) {
	free(s);
	return 0;
}

int cudnnSetTensor4dDescriptorEx(shape *s, int type, int n, int c, int h, int w, int ns, int cs, int hs, int ws) {
	*s = (shape){n, c, h, w};
	return type == 0 && ws == 1 && hs == w && cs == h * w && ns == c * h * w ? 0 : BAD_PARAM;
}

int cudnnCreateFilterDescriptor(shape **s) { return cudnnCreateTensorDescriptor(s); }
int cudnnDestroyFilterDescriptor(shape *s) { return cudnnDestroyTensorDescriptor(s); }

int cudnnSetFilter4dDescriptor(shape *s, int type, int format, int n, int c, int h, int w) {
	*s = (shape){n, c, h, w};
	return type == 0 && format == 0 ? 0 : BAD_PARAM;
}

int cudnnCreateConvolutionDescriptor(convolution **c) {
	*c = calloc(1, sizeof **c);
	return 0;
}

int cudnnDestroyConvolutionDescriptor(convolution *c) {
	free(c);
	return 0;
}

int cudnnSetConvolutionMathType(convolution *c, int type) {
	(void)c, (void)type;
	return 0;
}

int cudnnSetConvolutionGroupCount(convolution *c, int groups) {
	(void)c;
	return groups == 1 ? 0 : BAD_PARAM;
}

int cudnnSetConvolution2dDescriptor(convolution *c, int padH, int padW, int u, int v, int dilationH, int dilationW, int mode, int type) {
	*c = (convolution){{padH, padW}, {u, v}, mode};
	return type == 0 && dilationH == 1 && dilationW == 1 ? 0 : BAD_PARAM;
}

static shape output(const convolution *c, const shape *x, const shape *w) {
	return (shape){x->n, w->n, (x->h + 2 * c->pad[0] - w->h) / c->stride[0] + 1, (x->w + 2 * c->pad[1] - w->w) / c->stride[1] + 1};
}

int cudnnGetConvolution2dForwardOutputDim(const convolution *conv, const shape *x, const shape *w, int *n, int *c, int *h, int *width) {
	shape y = output(conv, x, w);
	*n = y.n, *c = y.c, *h = y.h, *width = y.w;
	return x->c == w->c ? 0 : BAD_PARAM;
}

enum which { FORWARD, DATA, FILTER };

typedef struct {
	shape x, w, y;
	convolution conv;
	float alpha, beta;
	enum which which;
} work;

static size_t count(const shape *s) { return (size_t)s->n * s->c * s->h * s->w; }

// convolve has memory in the order x, w, y and writes the one that it computes.
static void convolve(char **bytes, const void *argument) {
	const work *p = argument;
	float *x = (float *)bytes[0], *w = (float *)bytes[1], *y = (float *)bytes[2];
	float *result = p->which == FORWARD ? y : p->which == DATA ? x : w;
	size_t results = count(p->which == FORWARD ? &p->y : p->which == DATA ? &p->x : &p->w);
	float *sum = calloc(results, sizeof *sum);
	for (int n = 0; n < p->y.n; n++)
	for (int k = 0; k < p->w.n; k++)
	for (int i = 0; i < p->y.h; i++)
	for (int j = 0; j < p->y.w; j++)
	for (int c = 0; c < p->w.c; c++)
	for (int a = 0; a < p->w.h; a++)
	for (int b = 0; b < p->w.w; b++) {
		int row = i * p->conv.stride[0] - p->conv.pad[0] + a, col = j * p->conv.stride[1] - p->conv.pad[1] + b;
		if (row < 0 || row >= p->x.h || col < 0 || col >= p->x.w) continue;
		int turned = p->conv.mode == CONVOLUTION;
		size_t atX = (((size_t)n * p->x.c + c) * p->x.h + row) * p->x.w + col;
		size_t atW = (((size_t)k * p->w.c + c) * p->w.h + (turned ? p->w.h - 1 - a : a)) * p->w.w + (turned ? p->w.w - 1 - b : b);
		size_t atY = (((size_t)n * p->y.c + k) * p->y.h + i) * p->y.w + j;
		switch (p->which) {
		case FORWARD: sum[atY] += x[atX] * w[atW]; break;
		case DATA: sum[atX] += y[atY] * w[atW]; break;
		case FILTER: sum[atW] += x[atX] * y[atY]; break;
		}
	}
	for (size_t i = 0; i < results; i++) result[i] = p->alpha * sum[i] + (p->beta ? p->beta * result[i] : 0);
	free(sum);
}

static int launch(handle *h, enum which which, const char *what, const float *alpha, const float *beta,
                  const convolution *conv, const shape *xs, uint64_t x, const shape *ws, uint64_t w, const shape *ys, uint64_t y) {
	work p = {*xs, *ws, *ys, *conv, *alpha, *beta, which};
	shape want = output(conv, xs, ws);
	if (want.n != ys->n || want.c != ys->c || want.h != ys->h || want.w != ys->w) return BAD_PARAM;
	fake_access access[] = {
		{x, count(xs) * sizeof(float), which == DATA},
		{w, count(ws) * sizeof(float), which == FILTER},
		{y, count(ys) * sizeof(float), which == FORWARD},
	};
	if (cuCtxPushCurrent_v2(h->context)) return EXECUTION_FAILED;
	int failed = fakeLaunch(0, what, convolve, &p, sizeof p, 3, access);
	void *popped;
	return cuCtxPopCurrent_v2(&popped) || failed ? EXECUTION_FAILED : 0;
}

int cudnnConvolutionForward(handle *h, const float *alpha, const shape *xs, uint64_t x, const shape *ws, uint64_t w, const convolution *conv,
                            int algorithm, void *space, size_t bytes, const float *beta, const shape *ys, uint64_t y) {
	(void)algorithm, (void)space, (void)bytes;
	return launch(h, FORWARD, "cudnnConvolutionForward", alpha, beta, conv, xs, x, ws, w, ys, y);
}

int cudnnConvolutionBackwardData(handle *h, const float *alpha, const shape *ws, uint64_t w, const shape *ys, uint64_t y, const convolution *conv,
                                 int algorithm, void *space, size_t bytes, const float *beta, const shape *xs, uint64_t x) {
	(void)algorithm, (void)space, (void)bytes;
	return launch(h, DATA, "cudnnConvolutionBackwardData", alpha, beta, conv, xs, x, ws, w, ys, y);
}

int cudnnConvolutionBackwardFilter(handle *h, const float *alpha, const shape *xs, uint64_t x, const shape *ys, uint64_t y, const convolution *conv,
                                   int algorithm, void *space, size_t bytes, const float *beta, const shape *ws, uint64_t w) {
	(void)algorithm, (void)space, (void)bytes;
	return launch(h, FILTER, "cudnnConvolutionBackwardFilter", alpha, beta, conv, xs, x, ws, w, ys, y);
}
