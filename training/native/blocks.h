// How matrix products are laid out: bfloat16 numbers, float32 sums.
//
// A product is made in blocks of 32 x 32. The left-hand side comes as rows, or as tiles of 16 rows x 32 columns, one
// after another; the right-hand side as tiles of 32 rows x 16 columns, two rows interleaved. In both, the tiles along
// the summed dimension are neighbours.
#pragma once
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "numbers.h"

constexpr int TILE = 512;   // numbers of a tile
constexpr int BLOCK = 32;   // rows and columns of a block
constexpr int BLOCK_SIZE = BLOCK * BLOCK;

struct Free {
  void operator()(void* memory) const { free(memory); }
};
// Zeros, in pages of 2 MiB, for a network's numbers are scattered over many.
template <class Number>
struct Buffer {
  std::unique_ptr<Number, Free> owned;
  Buffer() = default;
  explicit Buffer(size_t size) {
    constexpr size_t page = size_t{2} << 20;
    const size_t bytes = (size * sizeof(Number) + page - 1) / page * page;
    owned.reset(static_cast<Number*>(aligned_alloc(page, bytes)));
    madvise(owned.get(), bytes, MADV_HUGEPAGE);
    memset(owned.get(), 0, bytes);
  }
  operator Number*() const { return owned.get(); }
};

// The left-hand side from some row on: numbers to the next 16 rows, to the next 32 columns, and bytes to the next row.
struct Left {
  const Bf16* at;
  long next_rows, next_columns, row_bytes;
  Left from(int row) const { return {at + row / 16 * next_rows, next_rows, next_columns, row_bytes}; }
};
inline Left as_rows(const Bf16* at, long width) { return {at, 16 * width, 32, 2 * width}; }
inline Left as_tiles(const Bf16* at, long tiles) { return {at, tiles * TILE, TILE, 64}; }

struct Nothing {
  void operator()(int, int, float*) const {}
};
