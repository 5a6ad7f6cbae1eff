// Products by a processor's dot products of bfloat16 (AVX-512), where it has no tiles.
#pragma once
#include "blocks.h"

inline __m512bh pairs_at(const Bf16* at) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(at)); }

struct Ready {};  // nothing is to be asked for

// As many rows as fill half of the registers with sums: the other half is for what is multiplied.
constexpr int ROWS = 8;

// A block at `at`, its rows `width` apart, becomes the product of `count` tiles either way; or that is added to it.
inline void sum_products(float* at, long width, bool add, const Left& left, const Bf16* right, long next, int count) {
  for (int row = 0; row < BLOCK; row += ROWS) {
    const char* from = reinterpret_cast<const char*>(left.at + row / 16 * left.next_rows) + row % 16 * left.row_bytes;
    Floats sums[ROWS][2];
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
      sums[i][0] = add ? load(at + (row + i) * width) : zeros();
      sums[i][1] = add ? load(at + (row + i) * width + 16) : zeros();
    }
    for (int k = 0; k < count; k++) {
      const char* pairs = from + 2 * k * left.next_columns;
      for (int pair = 0; pair < 16; pair++) {
        const Bf16* two_rows = right + k * TILE + 32 * pair;
        const __m512bh first = pairs_at(two_rows), second = pairs_at(two_rows + next);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
          int32_t two;
          memcpy(&two, pairs + i * left.row_bytes + 4 * pair, 4);
          const __m512bh everywhere = reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
          sums[i][0] = _mm512_dpbf16_ps(sums[i][0], everywhere, first);
          sums[i][1] = _mm512_dpbf16_ps(sums[i][1], everywhere, second);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
      store(at + (row + i) * width, sums[i][0]);
      store(at + (row + i) * width + 16, sums[i][1]);
    }
  }
}

// A product of `rows` x `columns`, summed over `count` tiles: `line(row, column, numbers)` has 32 numbers of a row at a
// time, and `block(row, column, numbers)` each block when all of its lines are done.
template <class Line, class Block = Nothing>
void multiply(const Left& left, const Bf16* right, int rows, int columns, int count, Line line, Block block = {}) {
  alignas(64) float numbers[BLOCK_SIZE];
  const long next = static_cast<long>(count) * TILE;
  for (int column = 0; column < columns; column += BLOCK) {
    for (int row = 0; row < rows; row += BLOCK) {
      sum_products(numbers, BLOCK, false, left.from(row), right + column / 16 * next, next, count);
      for (int i = 0; i < BLOCK; i++) line(row + i, column, numbers + i * BLOCK);
      block(row, column, numbers);
    }
  }
}
