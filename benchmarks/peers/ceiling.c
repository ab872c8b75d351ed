/* What libjpeg-turbo needs for the decode alone: files held in memory, one thread per processor, no pipeline.

     cc -O3 ceiling.c -o ceiling -ljpeg -lpthread -lm
     ceiling full|crop THREADS SECONDS DIR

   full  whole pictures to RGB.
   crop  a random region (8-100 % of the area, aspect 3/4-4/3) to RGB: only the rows and MCU columns it needs, at
         the smallest of the DCT scales 1, 1/2, 1/4, 1/8 that leaves it at least 224 wide and high.

   One line of JSON with the keys of `plankton bench --json` that apply. One warm epoch, then whole epochs for at
   least SECONDS. */
#define _GNU_SOURCE
#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

#include <jpeglib.h>

#define STR(x) #x
#define VERSION(x) STR(x)

enum { SIDE = 224, MAX_THREADS = 64 };

typedef struct { unsigned char *bytes; size_t size; } file;
typedef struct { int x, y, w, h; } region;

static file *files;
static int nfiles, end;
static int crop;
static atomic_int next;

static int load(const char *path, const struct stat *st, int type, struct FTW *at) {
  const char *ext = strrchr(path, '.');
  (void)at;
  if (type != FTW_F || !ext || (strcasecmp(ext, ".jpg") && strcasecmp(ext, ".jpeg"))) return 0;
  file f = {malloc(st->st_size), st->st_size};
  FILE *in = fopen(path, "rb");
  if (!in || fread(f.bytes, 1, f.size, in) != f.size) { perror(path); exit(1); }
  fclose(in);
  files = realloc(files, (nfiles + 1) * sizeof *files);
  files[nfiles++] = f;
  return 0;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static double cpu_seconds(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double uniform(uint64_t *s) { /* xorshift64 */
  *s ^= *s << 13; *s ^= *s >> 7; *s ^= *s << 17;
  return (*s >> 11) * 0x1p-53;
}

static region random_region(uint64_t *s, int w, int h) {
  for (int i = 0; i < 10; i++) {
    double area = (0.08 + 0.92 * uniform(s)) * w * h, ratio = exp((2 * uniform(s) - 1) * log(4.0 / 3));
    region r = {.w = lround(sqrt(area * ratio)), .h = lround(sqrt(area / ratio))};
    if (r.w < 1 || r.h < 1 || r.w > w || r.h > h) continue;
    r.x = uniform(s) * (w - r.w + 1);
    r.y = uniform(s) * (h - r.h + 1);
    return r;
  }
  int side = w < h ? w : h;
  return (region){(w - side) / 2, (h - side) / 2, side, side};
}

static void decode(file f, uint64_t *seed, unsigned char **out, size_t *cap) {
  struct jpeg_decompress_struct c;
  struct jpeg_error_mgr err;
  c.err = jpeg_std_error(&err);
  jpeg_create_decompress(&c);
  jpeg_mem_src(&c, f.bytes, f.size);
  jpeg_read_header(&c, TRUE);
  c.out_color_space = JCS_RGB;
  region r = {0, 0, c.image_width, c.image_height};
  if (crop) {
    r = random_region(seed, r.w, r.h);
    int shorter = r.w < r.h ? r.w : r.h, d = 8;
    while (d > 1 && shorter < SIDE * d) d /= 2;
    c.scale_num = 1;
    c.scale_denom = d;
    r = (region){r.x / d, r.y / d, r.w / d, r.h / d};
  }
  jpeg_start_decompress(&c);
  if (crop) {
    JDIMENSION x = r.x, w = r.w;
    jpeg_crop_scanline(&c, &x, &w);
    if (r.y) jpeg_skip_scanlines(&c, r.y);
  }
  size_t stride = (size_t)c.output_width * 3;
  if (stride * r.h > *cap) *out = realloc(*out, *cap = stride * r.h);
  for (int y; (y = c.output_scanline - r.y) < r.h;) {
    JSAMPROW rows[4];
    int n = 0;
    for (; n < 4 && y + n < r.h; n++) rows[n] = *out + stride * (y + n);
    jpeg_read_scanlines(&c, rows, n);
  }
  jpeg_destroy_decompress(&c);
}

static void *work(void *seed) {
  unsigned char *out = NULL;
  size_t cap = 0;
  for (int i; (i = next++) < end;) decode(files[i % nfiles], seed, &out, &cap);
  free(out);
  return NULL;
}

static double run(int threads, int epochs) {
  pthread_t th[MAX_THREADS];
  uint64_t seeds[MAX_THREADS];
  double t = seconds();
  next = 0;
  end = epochs * nfiles;
  for (int i = 0; i < threads; i++) {
    seeds[i] = 88172645463325252u + i;
    pthread_create(&th[i], NULL, work, &seeds[i]);
  }
  for (int i = 0; i < threads; i++) pthread_join(th[i], NULL);
  return seconds() - t;
}

int main(int argc, char **argv) {
  int threads = argc == 5 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > MAX_THREADS) {
    fprintf(stderr, "usage: ceiling full|crop THREADS SECONDS DIR (1 to %d threads)\n", MAX_THREADS);
    return 2;
  }
  crop = !strcmp(argv[1], "crop");
  if (nftw(argv[4], load, 16, FTW_PHYS) || !nfiles) {
    fprintf(stderr, "ceiling: no JPEG files in %s\n", argv[4]);
    return 1;
  }
  int epochs = 1 + (int)(atof(argv[3]) / run(threads, 1));
  double cpu = cpu_seconds(), wall = run(threads, epochs);
  cpu = cpu_seconds() - cpu;
  printf("{\"images\":%d,\"epochs\":%d,\"wall_s\":%.3f,\"images_per_s\":%.1f,\"cpu_s_per_1000\":%.4f,\"version\":\"%s\"}\n",
         (1 + epochs) * nfiles, 1 + epochs, wall, epochs * nfiles / wall, 1000 * cpu / (epochs * nfiles),
         VERSION(LIBJPEG_TURBO_VERSION));
  return 0;
}
