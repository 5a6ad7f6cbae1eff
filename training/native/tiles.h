// Matrix products, and what brings numbers into their tiles.
#pragma once
#ifdef __AMX_BF16__
#include "amx.h"
#else
#include "dots.h"
#endif

inline void product(float* block, const Left& left, const Bf16* right, long next, int count) {
  sum_products(block, BLOCK, false, left, right, next, count);
}

// rows [n, width] as the right-hand side's tiles, summed over rows; the sums of its columns are added to `sums`.
template <Soon soon>
void tiles_over_rows(const Bf16* rows, long width, int n, int columns, Bf16* tiles, float* sums = nullptr) {
  for (int row = 0; row < n; row += 32) {
    for (int column = 0; column < columns; column += 16) {
      const Bf16* from = rows + row * width + column;
      Bf16* tile = tiles + (static_cast<long>(column / 16) * (n / 32) + row / 32) * TILE;
      Floats even = zeros(), odd = zeros();
      for (int i = 0; i < 16; i++) {
        const __m512i pair = interleaved(from + 2 * i * width, from + (2 * i + 1) * width);
        store_line<soon>(tile + 32 * i, pair);
        even = _mm512_add_ps(even, _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16)));
        odd = _mm512_add_ps(odd, _mm512_castsi512_ps(_mm512_and_si512(pair, _mm512_set1_epi32(0xffff0000))));
      }
      if (sums) add_to(sums + column, _mm512_add_ps(even, odd));
    }
  }
}
// rows [n, width] as the right-hand side's tiles, summed over columns: the right-hand side is their transpose.
inline void tiles_over_columns(const Bf16* rows, long width, int n, int columns, Bf16* tiles) {
  for (int row = 0; row < n; row += 16) {
    for (int column = 0; column < columns; column += 32) {
      __m512i lines[16];
      for (int i = 0; i < 16; i++) lines[i] = _mm512_loadu_si512(rows + (row + i) * width + column);
      transpose(lines);
      Bf16* tile = tiles + (static_cast<long>(row / 16) * (columns / 32) + column / 32) * TILE;
      for (int i = 0; i < 16; i++) store_line<Soon::yes>(tile + 32 * i, lines[i]);
    }
  }
}
// The transpose of rows [n, width] as the left-hand side's tiles, summed over rows.
inline void transposed_tiles(const Bf16* rows, long width, int n, int columns, Bf16* tiles) {
  for (int row = 0; row < n; row += 32) {
    for (int column = 0; column < columns; column += 16) {
      __m512i lines[16];
      const Bf16* from = rows + row * width + column;
      for (int i = 0; i < 16; i++) lines[i] = interleaved(from + 2 * i * width, from + (2 * i + 1) * width);
      transpose(lines);
      Bf16* tile = tiles + (static_cast<long>(column / 16) * (n / 32) + row / 32) * TILE;
      for (int i = 0; i < 16; i++) store_line<Soon::no>(tile + 32 * i, lines[i]);
    }
  }
}

// Half a block (16 of its columns) times `factor`, its rows interleaved; returns the sums of the columns.
inline Floats interleaved_half(const float* block, Floats factor, __m512i* lines) {
  Floats sums = zeros();
  for (int i = 0; i < 16; i++) {
    const Floats even = _mm512_mul_ps(factor, _mm512_load_ps(block + 2 * i * BLOCK));
    const Floats odd = _mm512_mul_ps(factor, _mm512_load_ps(block + (2 * i + 1) * BLOCK));
    sums = _mm512_add_ps(sums, _mm512_add_ps(even, odd));
    lines[i] = interleaved(even, odd);
  }
  return sums;
}
// A block as two tiles of the right-hand side, `next` numbers apart; the sums of its columns are added to `sums`.
inline void block_over_rows(const float* block, Floats factor, Bf16* tiles, long next, float* sums) {
  for (int half = 0; half < 2; half++) {
    __m512i lines[16];
    add_to(sums + 16 * half, interleaved_half(block + 16 * half, factor, lines));
    for (int i = 0; i < 16; i++) store_line<Soon::no>(tiles + half * next + 32 * i, lines[i]);
  }
}
// The transpose of a block as two tiles of the left-hand side, `next` numbers apart.
template <Soon soon>
void transposed_block(const float* block, Bf16* tiles, long next) {
  for (int half = 0; half < 2; half++) {
    __m512i lines[16];
    interleaved_half(block + 16 * half, all(1.f), lines);
    transpose(lines);
    for (int i = 0; i < 16; i++) store_line<soon>(tiles + half * next + 32 * i, lines[i]);
  }
}

// The gradient [in, out] of a layer's weights: its inputs' transpose times its outputs' gradients, both in tiles over
// the `tokens`. The larger side is read once, in parts that stay in the second cache beside the smaller side's.
inline void weight_gradient(const Bf16* inputs, int in, const Bf16* outputs, int out, int tokens, float* gradient) {
  const int tiles = tokens / 32, part = 32, few = 8;
  const auto one = [&](int row, int column, int from) {
    float* at = gradient + static_cast<long>(row) * out + column;
    const long next = static_cast<long>(tiles) * TILE;
    const Bf16* left = inputs + (static_cast<long>(row / 16) * tiles + from) * TILE;
    const Bf16* right = outputs + (static_cast<long>(column / 16) * tiles + from) * TILE;
    sum_products(at, out, from > 0, as_tiles(left, tiles), right, next, few);
  };
  for (int start = 0; start < tiles; start += part) {
    for (int large = 0; large < (in > out ? in : out); large += BLOCK) {
      for (int from = start; from < start + part; from += few) {
        for (int small = 0; small < (in > out ? out : in); small += BLOCK) {
          in > out ? one(large, small, from) : one(small, large, from);
        }
      }
    }
  }
}
