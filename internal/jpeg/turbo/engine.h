#ifndef PLANKTON_TURBO_ENGINE_H
#define PLANKTON_TURBO_ENGINE_H

#include <stddef.h>
#include <stdint.h>

typedef struct engine engine;

typedef struct {
  int x, y, width, height;
} rectangle;

typedef struct {
  uint8_t *pix;        /* where the first sample of the rectangle goes */
  int stride;
  rectangle rect;      /* in the component's own grid */
} plane;

typedef struct {
  int quality;
  int components;      /* 1, 3 or 4 */
  int h, v;            /* sampling factors of the first component (and the fourth) */
  int restart;         /* MCUs, 0 for none */
  int progressive, optimize, rgb, separate;
} encoding;

engine *engine_new(void);
void engine_free(engine *);

/* The functions return NULL or a message that is valid until the next call. */
const char *engine_pixels(engine *, const uint8_t *data, size_t size, rectangle region, int reduce,
                          int space, int tolerant, uint8_t *dst, size_t stride);
const char *engine_planes(engine *, const uint8_t *data, size_t size, int reduce, int tolerant, plane *planes, int n);
const char *engine_encode(engine *, const uint8_t *pix, int width, int height, const encoding *how,
                          uint8_t **out, unsigned long *size);

#endif
