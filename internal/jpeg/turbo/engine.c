//go:build turbojpeg

#include "engine.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

struct engine {
  struct jpeg_decompress_struct d;
  struct jpeg_error_mgr err;
  jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  uint8_t *scratch;
  size_t scratch_size;
};

static void fail(j_common_ptr c) {
  engine *e = c->client_data;
  c->err->format_message(c, e->message);
  longjmp(e->escape, 1);
}

/* The first warning is kept: it is an error unless the caller is tolerant. */
static void note(j_common_ptr c, int level) {
  engine *e = c->client_data;
  if (level >= 0) return;
  if (c->err->num_warnings++ == 0) c->err->format_message(c, e->message);
}

engine *engine_new(void) {
  engine *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->d.err = jpeg_std_error(&e->err);
  e->err.error_exit = fail;
  e->err.emit_message = note;
  e->d.client_data = e;
  if (setjmp(e->escape)) {
    free(e);
    return NULL;
  }
  jpeg_create_decompress(&e->d);
  e->d.client_data = e;
  return e;
}

void engine_free(engine *e) {
  if (!e) return;
  jpeg_destroy_decompress(&e->d);
  free(e->scratch);
  free(e);
}

static uint8_t *scratch(engine *e, size_t n) {
  if (n > e->scratch_size) {
    free(e->scratch);
    e->scratch = malloc(n);
    e->scratch_size = e->scratch ? n : 0;
  }
  return e->scratch;
}

static const char *end(engine *e, const char *message) {
  jpeg_abort_decompress(&e->d);
  e->d.src->next_input_byte = NULL;
  return message;
}

const char *engine_pixels(engine *e, const uint8_t *data, size_t size, rectangle r, int reduce,
                          int space, int tolerant, uint8_t *dst, size_t stride) {
  struct jpeg_decompress_struct *d = &e->d;
  e->err.num_warnings = 0;
  if (setjmp(e->escape)) return end(e, e->message);
  jpeg_mem_src(d, data, size);
  jpeg_read_header(d, TRUE);
  d->out_color_space = space;
  d->scale_num = 1;
  d->scale_denom = reduce;
  jpeg_start_decompress(d);
  JDIMENSION x = r.x, w = r.width;
  if (r.width < (int)d->output_width) {
    /* Chroma at the edge of a crop is not that of the whole picture, nor are the two blocks there
       where blocks are smoothed. */
    int margin = 2;
    if (d->progressive_mode) margin += 2 * DCTSIZE * d->max_h_samp_factor;
    x = r.x > margin ? r.x - margin : 0;
    w = r.x + r.width + margin - x;
    if (x + w > d->output_width) w = d->output_width - x;
    jpeg_crop_scanline(d, &x, &w);
  }
  size_t pixel = d->output_components, skip = (r.x - x) * pixel;
  uint8_t *row = scratch(e, d->output_width * pixel);
  if (!row) return end(e, "out of memory");
  if (r.y > 0) jpeg_skip_scanlines(d, r.y);
  for (int y = 0; y < r.height; y++) {
    if (jpeg_read_scanlines(d, &row, 1) != 1) return end(e, "no more rows");
    memcpy(dst + y * stride, row + skip, r.width * pixel);
  }
  if (tolerant || e->err.num_warnings == 0) return end(e, NULL);
  return end(e, e->message);
}

const char *engine_planes(engine *e, const uint8_t *data, size_t size, int reduce, int tolerant, plane *planes,
                          int n) {
  struct jpeg_decompress_struct *d = &e->d;
  e->err.num_warnings = 0;
  if (setjmp(e->escape)) return end(e, e->message);
  jpeg_mem_src(d, data, size);
  jpeg_read_header(d, TRUE);
  d->raw_data_out = TRUE;
  d->out_color_space = d->jpeg_color_space;
  d->scale_num = 1;
  d->scale_denom = reduce;
  jpeg_start_decompress(d);
  if (d->num_components != n) return end(e, "unexpected number of components");

  JSAMPROW rows[4][4 * DCTSIZE];
  JSAMPARRAY bands[4];
  size_t need = 0;
  for (int c = 0; c < n; c++) {
    jpeg_component_info *info = &d->comp_info[c];
    need += ((size_t)info->width_in_blocks + 4) * DCTSIZE * info->v_samp_factor * info->DCT_scaled_size;
  }
  uint8_t *p = scratch(e, need);
  if (!p) return end(e, "out of memory");
  for (int c = 0; c < n; c++) {
    jpeg_component_info *info = &d->comp_info[c];
    size_t width = ((size_t)info->width_in_blocks + 4) * DCTSIZE;
    bands[c] = rows[c];
    for (int y = 0; y < info->v_samp_factor * info->DCT_scaled_size; y++, p += width) rows[c][y] = p;
  }
  int lines = d->max_v_samp_factor * d->min_DCT_scaled_size;
  for (int band = 0; d->output_scanline < d->output_height; band++) {
    if (jpeg_read_raw_data(d, bands, lines) == 0) return end(e, "no more rows");
    for (int c = 0; c < n; c++) {
      plane *out = &planes[c];
      int height = d->comp_info[c].v_samp_factor * d->comp_info[c].DCT_scaled_size;
      for (int y = 0; y < height; y++) {
        int at = band * height + y - out->rect.y;
        if (at >= 0 && at < out->rect.height)
          memcpy(out->pix + (size_t)at * out->stride, rows[c][y] + out->rect.x, out->rect.width);
      }
    }
  }
  if (tolerant || e->err.num_warnings == 0) return end(e, NULL);
  return end(e, e->message);
}

const char *engine_encode(engine *e, const uint8_t *pix, int width, int height, const encoding *how,
                          uint8_t **out, unsigned long *size) {
  struct jpeg_compress_struct c;
  c.err = &e->err;
  c.client_data = e;
  if (setjmp(e->escape)) {
    jpeg_destroy_compress(&c);
    return e->message;
  }
  jpeg_create_compress(&c);
  c.client_data = e;
  jpeg_mem_dest(&c, out, size);
  c.image_width = width;
  c.image_height = height;
  c.input_components = how->components;
  c.in_color_space = how->components == 1 ? JCS_GRAYSCALE : how->components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&c);
  if (how->rgb && how->components > 1) jpeg_set_colorspace(&c, how->components == 4 ? JCS_CMYK : JCS_RGB);
  else if (how->components == 4) jpeg_set_colorspace(&c, JCS_YCCK);
  jpeg_set_quality(&c, how->quality, TRUE);
  for (int i = 0; i < c.num_components; i++) {
    int chroma = i == 1 || i == 2;
    c.comp_info[i].h_samp_factor = chroma ? 1 : how->h;
    c.comp_info[i].v_samp_factor = chroma ? 1 : how->v;
  }
  c.restart_interval = how->restart;
  c.optimize_coding = how->optimize;
  jpeg_scan_info scans[4];
  if (how->progressive) {
    jpeg_simple_progression(&c);
  } else if (how->separate) {
    memset(scans, 0, sizeof scans);
    for (int i = 0; i < c.num_components; i++) {
      scans[i].comps_in_scan = 1;
      scans[i].component_index[0] = i;
      scans[i].Se = DCTSIZE2 - 1;
    }
    c.scan_info = scans;
    c.num_scans = c.num_components;
  }
  jpeg_start_compress(&c, TRUE);
  while (c.next_scanline < c.image_height) {
    JSAMPROW row = (JSAMPROW)pix + (size_t)c.next_scanline * width * how->components;
    jpeg_write_scanlines(&c, &row, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  return NULL;
}
