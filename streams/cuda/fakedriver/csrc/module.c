// Modules and launches. A module is PTX whose kernels the fake knows by name.
#include "fake.h"

enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6, MAXTHREADS = 1024 };

typedef struct {
	context *context;
	char *text;
} module;

typedef struct {
	module *module;
	const fake_kernel *kernel;
} function;

static long number_after(const char *text, const char *word, int scale) {
	const char *at = strstr(text, word);
	int major = 0, minor = 0;
	if (!at || sscanf(at + strlen(word), " %d.%d", &major, &minor) < 1) return -1;
	return major * scale + minor;
}

CUresult cuModuleLoadDataEx(module **p, const char *text, unsigned n, const int *options, void **values) {
	ENTER();
	CURRENT(c);
	char *log = 0;
	size_t size = 0;
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == ERROR_LOG) log = values[i];
		if (options[i] == ERROR_LOG_SIZE) size = (size_t)values[i];
	}
	long version = number_after(text, "\n.version", 10), target = number_after(text, ".target sm_", 1);
	if (version < 0 || target < 0 || !strstr(text, ".address_size 64")) {
		if (log) snprintf(log, size, "ptxas fatal: missing .version directive");
		LEAVE(INVALID_PTX);
	}
	// CUDA 11.8 brought PTX 7.8, 12.0 brought 8.0, 13.0 brought 9.0.
	long major = settings[DRIVER_VERSION] / 1000, minor = settings[DRIVER_VERSION] % 1000 / 10;
	if (version > (major - 4) * 10 + minor) LEAVE(UNSUPPORTED_PTX);
	if (target > settings[CAPABILITY]) LEAVE(NO_BINARY);
	module *m = calloc(1, sizeof *m);
	m->context = c;
	m->text = strdup(text);
	c->modules++;
	*p = m;
	LEAVE(SUCCESS);
}

CUresult cuModuleLoadData(module **p, const char *text) { return cuModuleLoadDataEx(p, text, 0, 0, 0); }

CUresult cuModuleUnload(module *m) {
	ENTER();
	CURRENT(c);
	if (m->context != c || !m->text) LEAVE(INVALID_HANDLE);
	c->modules--;
	free(m->text); // the rest stays, so that a stale kernel is known
	m->text = 0;
	LEAVE(SUCCESS);
}

CUresult cuModuleGetFunction(function **p, module *m, const char *name) {
	ENTER();
	CURRENT(c);
	if (m->context != c || !m->text) LEAVE(INVALID_HANDLE);
	char entry[128];
	snprintf(entry, sizeof entry, ".entry %s(", name);
	const fake_kernel *k = kernel_named(name);
	if (!strstr(m->text, entry) || !k) LEAVE(NOT_FOUND);
	function *f = calloc(1, sizeof *f);
	f->module = m;
	f->kernel = k;
	*p = f;
	LEAVE(SUCCESS);
}

CUresult cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, uint64_t handle, void **parameters, void **extra) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(handle, c);
	if (!s || !f->module->text || f->module->context != c) LEAVE(INVALID_HANDLE);
	if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || !bx || !by || !bz || bx * by * bz > MAXTHREADS || shared > 48 << 10 || extra)
		LEAVE(INVALID_VALUE);
	const fake_kernel *k = f->kernel;
	launch *l = calloc(1, sizeof *l);
	*l = (launch){k, {gx, gy, gz}, {bx, by, bz}, {0}};
	for (int i = 0; i < k->parameters; i++) memcpy(&l->argument[i], parameters[i], k->size[i]);
	counts[LAUNCHES]++;
	char what[48];
	const size_t prefix = strlen("plankton_");
	snprintf(what, sizeof what, "kernel %s", k->name + (strncmp(k->name, "plankton_", prefix) ? 0 : prefix));
	operation *o = begin(s, what);
	o->extra = l;
	o->run = k->run;
	CUresult bad = k->uses(o, s);
	if (bad) o->run = 0; // it stays in the queue, since it has declared accesses
	push(s, o);
	LEAVE(bad);
}
