// One head of causal self-attention over one window, forward and backward, 32 queries at a time.
#pragma once
#include <cmath>

#include "tiles.h"

constexpr int HEAD = 64, LONGEST = 512;

// What one thread needs for one head of one window; tiles unless said otherwise.
struct HeadSpace {
  Buffer<Bf16> keys{LONGEST * HEAD}, values{LONGEST * HEAD}, keys_over_rows{LONGEST * HEAD};
  Buffer<Bf16> queries_over_rows{LONGEST * HEAD}, outputs_over_rows{LONGEST * HEAD};
  Buffer<Bf16> few{BLOCK * LONGEST};                                        // of 32 queries: shares or gradients
  Buffer<float> scores{BLOCK * LONGEST};                                    // of 32 queries, in blocks of 32 keys
  Buffer<Bf16> shares{LONGEST * LONGEST}, gradients{LONGEST * LONGEST};     // of all keys, transposed
};
// A head's vectors in rows `width` apart.
struct HeadRows {
  Bf16 *queries, *keys, *values;
  long width;
};

// Of row `row` of a block on the diagonal, which of 16 keys from `from` on may be seen.
inline __mmask16 seen(bool diagonal, int row, int from) {
  return diagonal ? static_cast<__mmask16>(((uint64_t{2} << row) - 1) >> from) : __mmask16{0xffff};
}
// exp(score / sqrt(HEAD) - less).
inline Floats weight_of(const float* score, Floats less) {
  return exp_of(_mm512_fmsub_ps(_mm512_load_ps(score), all(0.125f), less));
}

// outputs [length, HEAD] in rows `outputs_width` apart, and the logarithm of the sum of exp(scores) of each query,
// `sums_width` apart. A query's largest score is taken away before exp: scores of thousands have been met.
inline void attend(HeadSpace& space, const HeadRows& head, int length, Bf16* outputs, long outputs_width, float* sums,
                   long sums_width) {
  const int tiles = length / 32;
  const long next = static_cast<long>(tiles) * TILE;
  alignas(64) float block[BLOCK_SIZE];
  tiles_over_columns(head.keys, head.width, length, HEAD, space.keys);
  tiles_over_rows<Soon::yes>(head.values, head.width, length, HEAD, space.values);
  for (int i = 0; i < tiles; i++) {
    Floats largest[BLOCK];
    float parts[BLOCK];
    for (Floats& each : largest) each = all(-INFINITY);
    for (int j = 0; j <= i; j++) {
      float* scores = space.scores + j * BLOCK_SIZE;
      product(scores, as_rows(head.queries + i * 32 * head.width, head.width), space.keys + j * 4 * TILE, 2 * TILE, 2);
      for (int row = 0; row < BLOCK; row++) {
        for (int half = 0; half < BLOCK; half += 16) {
          largest[row] = _mm512_mask_max_ps(largest[row], seen(i == j, row, half), largest[row],
                                            _mm512_load_ps(scores + row * BLOCK + half));
        }
      }
    }
    for (int row = 0; row < BLOCK; row++) {
      const float most = 0.125f * _mm512_reduce_max_ps(largest[row]);
      Floats total = zeros();
      for (int j = 0; j <= i; j++) {
        const float* scores = space.scores + j * BLOCK_SIZE + row * BLOCK;
        const Floats first = _mm512_maskz_mov_ps(seen(i == j, row, 0), weight_of(scores, all(most)));
        const Floats second = _mm512_maskz_mov_ps(seen(i == j, row, 16), weight_of(scores + 16, all(most)));
        total = _mm512_add_ps(total, _mm512_add_ps(first, second));
        store<Soon::yes>(space.few + (row / 16 * tiles + j) * TILE + row % 16 * 32, first, second);
      }
      const float sum = _mm512_reduce_add_ps(total);
      parts[row] = 1.f / sum;
      sums[(i * 32 + row) * sums_width] = most + std::log(sum);
    }
    for (int column = 0; column < HEAD; column += BLOCK) {
      product(block, as_tiles(space.few, tiles), space.values + column / 16 * next, next, i + 1);
      for (int row = 0; row < BLOCK; row++) {
        const Floats part = all(parts[row]);
        store<Soon::no>(outputs + (i * 32 + row) * outputs_width + column,
                        _mm512_mul_ps(part, _mm512_load_ps(block + row * BLOCK)),
                        _mm512_mul_ps(part, _mm512_load_ps(block + row * BLOCK + 16)));
      }
    }
  }
}

// The gradients of queries, keys and values, from those of the outputs; `then(which, row, column, block, factor)` has
// each block of them, which is 0, 1 or 2, still to be multiplied by `factor`. (Dao et al., 2022, equations of the
// backward pass.)
template <class Then>
void attend_backward(HeadSpace& space, const HeadRows& head, int length, const Bf16* outputs, const Bf16* gradients,
                     long outputs_width, const float* sums, long sums_width, Then then) {
  const int tiles = length / 32;
  const long next = static_cast<long>(tiles) * TILE;
  const Floats scale = all(0.125f);
  alignas(64) float shares[BLOCK_SIZE], changes[BLOCK_SIZE];
  tiles_over_columns(head.keys, head.width, length, HEAD, space.keys);
  tiles_over_columns(head.values, head.width, length, HEAD, space.values);
  tiles_over_rows<Soon::yes>(head.keys, head.width, length, HEAD, space.keys_over_rows);
  tiles_over_rows<Soon::yes>(head.queries, head.width, length, HEAD, space.queries_over_rows);
  tiles_over_rows<Soon::yes>(gradients, outputs_width, length, HEAD, space.outputs_over_rows);
  for (int i = 0; i < tiles; i++) {
    const Bf16* change = gradients + i * 32 * outputs_width;
    float common[BLOCK], sum[BLOCK];
    for (int row = 0; row < BLOCK; row++) {
      Floats total = zeros();
      for (int column = 0; column < HEAD; column += 16) {
        total = _mm512_fmadd_ps(load(change + row * outputs_width + column),
                                load(outputs + (i * 32 + row) * outputs_width + column), total);
      }
      common[row] = _mm512_reduce_add_ps(total);
      sum[row] = sums[(i * 32 + row) * sums_width];
    }
    for (int j = 0; j <= i; j++) {
      product(shares, as_rows(head.queries + i * 32 * head.width, head.width), space.keys + j * 4 * TILE, 2 * TILE, 2);
      product(changes, as_rows(change, outputs_width), space.values + j * 4 * TILE, 2 * TILE, 2);
      for (int row = 0; row < BLOCK; row++) {
        Floats both[2];
        for (int half = 0; half < 2; half++) {
          float *share = shares + row * BLOCK + 16 * half, *moved = changes + row * BLOCK + 16 * half;
          const Floats p = _mm512_maskz_mov_ps(seen(i == j, row, 16 * half), weight_of(share, all(sum[row])));
          both[half] = _mm512_mul_ps(p, _mm512_sub_ps(_mm512_load_ps(moved), all(common[row])));
          _mm512_store_ps(share, p);
          _mm512_store_ps(moved, both[half]);
        }
        store<Soon::yes>(space.few + (row / 16 * tiles + j) * TILE + row % 16 * 32, both[0], both[1]);
      }
      transposed_block<Soon::yes>(shares, space.shares + (j * 2 * tiles + i) * TILE, next);
      transposed_block<Soon::yes>(changes, space.gradients + (j * 2 * tiles + i) * TILE, next);
    }
    for (int column = 0; column < HEAD; column += BLOCK) {
      product(shares, as_tiles(space.few, tiles), space.keys_over_rows + column / 16 * next, next, i + 1);
      then(0, i * 32, column, shares, scale);
    }
  }
  for (int j = 0; j < tiles; j++) {
    const int first = (j * 2 * tiles + j) * TILE, rest = tiles - j;
    for (int column = 0; column < HEAD; column += BLOCK) {
      const long at = column / 16 * next + j * TILE;
      product(shares, as_tiles(space.gradients + first, tiles), space.queries_over_rows + at, next, rest);
      then(1, j * 32, column, shares, scale);
      product(shares, as_tiles(space.shares + first, tiles), space.outputs_over_rows + at, next, rest);
      then(2, j * 32, column, shares, all(1.f));
    }
  }
}
