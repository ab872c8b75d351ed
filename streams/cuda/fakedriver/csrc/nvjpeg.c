// nvJPEG on the fake driver. It decodes nothing: a test says what is in which file.
// Like the real one it prepares on the host and copies on a stream, through memory
// that belongs to the state; who uses a state again too early is in a race.
#include "fake.h"

enum { NVJPEG_INVALID = 2, NVJPEG_BAD = 3, NVJPEG_ALLOCATOR = 5, NVJPEG_FAILED = 6 };
enum { FORMAT_Y = 2, FORMAT_RGB = 3, FORMAT_BGR = 4, FORMAT_RGBI = 5, FORMAT_BGRI = 6 };
enum { HANDLE_TAG = 0x6a68, STATE_TAG = 0x6a73, BLOCK = 64 };

CUresult cuMemHostAlloc(uint64_t *p, size_t size, unsigned flags);
CUresult cuMemFreeHost(uint64_t p);
CUresult cuMemcpyAsync(uint64_t dst, uint64_t src, size_t n, uint64_t stream);
void fakeAccess(uint64_t address, size_t size, int write);

typedef struct {
	int tag, states;
	uint64_t block;
} handle;

typedef struct {
	int tag;
	handle *handle;
	uint64_t staging;
	size_t size, used;
	int batch, format; // of nvjpegDecodeBatchedInitialize
} state;

typedef struct picture {
	struct picture *next;
	unsigned char *file, *rgb;
	size_t length;
	int h, w, components, status, batch_status;
} picture;
static picture *pictures;

typedef struct {
	uint64_t channel[4];
	size_t pitch[4];
} image;

static picture *find(const unsigned char *file, size_t length) {
	pthread_mutex_lock(&lock);
	picture *p = pictures;
	while (p && (p->length != length || memcmp(p->file, file, length))) p = p->next;
	pthread_mutex_unlock(&lock);
	return p;
}

// fakePicture declares a file: its pixels, H×W×3, and what decoding it alone and in
// a batch returns. Pictures stay until the process ends.
void fakePicture(const unsigned char *file, size_t length, int h, int w, int components, const unsigned char *rgb, int status, int batch_status) {
	picture *p = find(file, length), *fresh = 0;
	if (!p) p = fresh = calloc(1, sizeof *p);
	p->h = h, p->w = w, p->components = components, p->status = status, p->batch_status = batch_status;
	free(p->rgb);
	p->rgb = memcpy(malloc(h * w * 3), rgb, h * w * 3);
	if (!fresh) return;
	p->file = memcpy(malloc(length), file, length);
	p->length = length;
	pthread_mutex_lock(&lock);
	p->next = pictures;
	pictures = p;
	pthread_mutex_unlock(&lock);
}

// called begins every function that needs a context.
static int called(const char *function) {
	pthread_mutex_lock(&lock);
	CUresult bad = injected(function);
	if (!bad && !current(&bad)) bad = NVJPEG_FAILED;
	LEAVE(bad);
}

static int state_of(handle *h, state *s) {
	if (h && h->tag == HANDLE_TAG && s && s->tag == STATE_TAG && s->handle == h) return 1;
	pthread_mutex_lock(&lock);
	complain("nvJPEG is called with a bad handle or state");
	LEAVE(0);
}

int nvjpegGetProperty(int which, int *value) {
	*value = (int[]){12, 4, 0}[which];
	return 0;
}

int nvjpegCreateEx(int backend, void *device, void *pinned, unsigned flags, handle **p) {
	int bad = called(__func__);
	if (bad) return bad;
	if (backend < 0 || backend > 6 || device || pinned || flags & ~63u) return NVJPEG_INVALID;
	handle *h = calloc(1, sizeof *h);
	h->tag = HANDLE_TAG;
	if (cuMemHostAlloc(&h->block, BLOCK, 0)) {
		free(h);
		return NVJPEG_ALLOCATOR;
	}
	*p = h;
	return 0;
}

int nvjpegDestroy(handle *h) {
	int bad = called(__func__);
	if (bad) return bad;
	if (h->states) {
		pthread_mutex_lock(&lock);
		complain("a handle of nvJPEG ends with %d states", h->states);
		pthread_mutex_unlock(&lock);
	}
	cuMemFreeHost(h->block);
	free(h);
	return 0;
}

int nvjpegJpegStateCreate(handle *h, state **p) {
	int bad = called(__func__);
	if (bad) return bad;
	state *s = calloc(1, sizeof *s);
	*s = (state){.tag = STATE_TAG, .handle = h, .size = BLOCK};
	if (cuMemHostAlloc(&s->staging, BLOCK, 0)) {
		free(s);
		return NVJPEG_ALLOCATOR;
	}
	h->states++;
	*p = s;
	return 0;
}

int nvjpegJpegStateDestroy(state *s) {
	int bad = called(__func__);
	if (bad) return bad;
	s->handle->states--;
	cuMemFreeHost(s->staging);
	free(s);
	return 0;
}

int nvjpegGetImageInfo(handle *h, const unsigned char *file, size_t length, int *components, int *subsampling, int *widths, int *heights) {
	pthread_mutex_lock(&lock);
	int bad = injected(__func__);
	pthread_mutex_unlock(&lock);
	if (bad) return bad;
	picture *p = find(file, length);
	if (!h || !p) return NVJPEG_BAD;
	*components = p->components;
	*subsampling = p->components == 1 ? 6 : 0;
	for (int i = 0; i < 4; i++) {
		widths[i] = i < p->components ? p->w : 0;
		heights[i] = i < p->components ? p->h : 0;
	}
	return 0;
}

// reserve makes room for the pixels of a call.
static int reserve(state *s, size_t size) {
	s->used = 0;
	if (size <= s->size) return 0;
	uint64_t more;
	if (cuMemHostAlloc(&more, size, 0)) return NVJPEG_ALLOCATOR;
	cuMemFreeHost(s->staging);
	s->staging = more;
	s->size = size;
	return 0;
}

static int channels_of(int format) { return format == FORMAT_RGBI || format == FORMAT_BGRI ? 3 : 1; }

static int planes_of(int format) { return format == FORMAT_RGB || format == FORMAT_BGR ? 3 : 1; }

static int write_picture(state *s, const picture *p, int format, const image *to, uint64_t stream) {
	int channels = channels_of(format), blue = format == FORMAT_BGR || format == FORMAT_BGRI;
	size_t row = (size_t)p->w * channels;
	for (int plane = 0; plane < planes_of(format); plane++) {
		if (to->pitch[plane] < row) return NVJPEG_INVALID;
		for (int y = 0; y < p->h; y++) {
			uint64_t from = s->staging + s->used;
			unsigned char *pixels = (unsigned char *)from;
			fakeAccess(from, row, 1);
			for (size_t i = 0; i < row; i++) {
				int c = plane + i % channels;
				pixels[i] = p->rgb[((size_t)y * p->w + i / channels) * 3 + (blue ? 2 - c : c)];
			}
			s->used += row;
			if (cuMemcpyAsync(to->channel[plane] + y * to->pitch[plane], from, row, stream)) return NVJPEG_FAILED;
		}
	}
	return 0;
}

static size_t bytes_of(const picture *p, int format) { return (size_t)p->h * p->w * channels_of(format) * planes_of(format); }

int nvjpegDecode(handle *h, state *s, const unsigned char *file, size_t length, int format, const image *to, uint64_t stream) {
	int bad = called(__func__);
	if (bad) return bad;
	if (!state_of(h, s) || format < FORMAT_Y || format > FORMAT_BGRI) return NVJPEG_INVALID;
	picture *p = find(file, length);
	if (!p || p->status) return p ? p->status : NVJPEG_BAD;
	bad = reserve(s, bytes_of(p, format));
	return bad ? bad : write_picture(s, p, format, to, stream);
}

int nvjpegDecodeBatchedInitialize(handle *h, state *s, int batch, int threads, int format) {
	int bad = called(__func__);
	if (bad) return bad;
	if (!state_of(h, s) || batch < 1 || threads < 1 || format < FORMAT_Y || format > FORMAT_BGRI) return NVJPEG_INVALID;
	s->batch = batch;
	s->format = format;
	return 0;
}

// nvjpegDecodeBatched stops at the first file that it cannot decode; those before
// are under way by then, and the state has to be initialised anew.
int nvjpegDecodeBatched(handle *h, state *s, const unsigned char *const *files, const size_t *lengths, const image *to, uint64_t stream) {
	int bad = called(__func__);
	if (bad) return bad;
	if (!state_of(h, s) || !s->batch) return NVJPEG_INVALID;
	int n = s->batch;
	s->batch = 0;
	size_t size = 0;
	for (int i = 0; i < n; i++) {
		picture *p = find(files[i], lengths[i]);
		if (p) size += bytes_of(p, s->format);
	}
	if ((bad = reserve(s, size))) return bad;
	for (int i = 0; i < n; i++) {
		picture *p = find(files[i], lengths[i]);
		if (!p) return NVJPEG_BAD;
		if (p->status || p->batch_status) return p->status ? p->status : p->batch_status;
		if ((bad = write_picture(s, p, s->format, &to[i], stream))) return bad;
	}
	s->batch = n;
	return 0;
}
