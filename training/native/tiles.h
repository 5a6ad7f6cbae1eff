// Matrix products in a processor's tiles (Intel AMX): bfloat16 numbers, float32 sums.
//
// A product is made in blocks of 32 x 32. The left-hand side comes as rows, or as tiles of 16 rows x 32 columns, one
// after another; the right-hand side as tiles of 32 rows x 16 columns, two rows interleaved. In both, the tiles along
// the summed dimension are neighbours.
#pragma once
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// While it lives, this thread may use tiles, all eight of them of 16 rows of 64 bytes.
struct Tiles {
  Tiles() {
    constexpr int request_permission = 0x1023, tile_data = 18;
    syscall(SYS_arch_prctl, request_permission, tile_data);
    struct alignas(64) {
      uint8_t palette = 1, start = 0, reserved[14] = {};
      uint16_t bytes[16] = {};
      uint8_t rows[16] = {};
    } shape;
    for (int i = 0; i < 8; i++) {
      shape.bytes[i] = 64;
      shape.rows[i] = 16;
    }
    _tile_loadconfig(&shape);
  }
  ~Tiles() { _tile_release(); }
};

// The left-hand side from some row on: numbers to the next 16 rows, to the next 32 columns, and bytes to the next row.
struct Left {
  const Bf16* at;
  long next_rows, next_columns, row_bytes;
  Left from(int row) const { return {at + row / 16 * next_rows, next_rows, next_columns, row_bytes}; }
};
inline Left as_rows(const Bf16* at, long width) { return {at, 16 * width, 32, 2 * width}; }
inline Left as_tiles(const Bf16* at, long tiles) { return {at, tiles * TILE, TILE, 64}; }

inline void clear() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}
inline void load_block(const float* at, long width) {
  _tile_loadd(0, at, width * 4);
  _tile_loadd(1, at + 16, width * 4);
  _tile_loadd(2, at + 16 * width, width * 4);
  _tile_loadd(3, at + 16 * width + 16, width * 4);
}
inline void store_block(float* at, long width) {
  _tile_stored(0, at, width * 4);
  _tile_stored(1, at + 16, width * 4);
  _tile_stored(2, at + 16 * width, width * 4);
  _tile_stored(3, at + 16 * width + 16, width * 4);
}
// Add to the block the product of the k-th tiles; the right-hand side's other 16 columns are `next` numbers further.
inline void add_product(const Left& left, const Bf16* right, long next, int k) {
  _tile_loadd(4, left.at + k * left.next_columns, left.row_bytes);
  _tile_loadd(6, right + k * TILE, 64);
  _tile_loadd(5, left.at + left.next_rows + k * left.next_columns, left.row_bytes);
  _tile_loadd(7, right + next + k * TILE, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(3, 5, 7);
}
inline void add_products(const Left& left, const Bf16* right, long next, int count) {
  for (int k = 0; k < count; k++) add_product(left, right, next, k);
}
inline void product(float* block, const Left& left, const Bf16* right, long next, int count) {
  clear();
  add_products(left, right, next, count);
  store_block(block, BLOCK);
}

struct Nothing {
  void operator()(int, int, float*) const {}
};
// A product of `rows` x `columns`, summed over `count` tiles: `line(row, column, numbers)` has 32 numbers of a row at a
// time, and `block(row, column, numbers)` each block when all of its lines are done. What they do with one block happens
// while the tiles are busy with the next.
template <class Line, class Block = Nothing>
void multiply(const Left& left, const Bf16* right, int rows, int columns, int count, Line line, Block block = {}) {
  alignas(64) float numbers[2][BLOCK_SIZE];
  const int at_once = (BLOCK + count - 1) / count;
  int last_row = 0, last_column = 0, done = BLOCK, now = 0;
  const auto go_on = [&](int lines) {
    float* last = numbers[1 - now];
    for (; lines && done < BLOCK; lines--, done++) line(last_row + done, last_column, last + done * BLOCK);
  };
  for (int column = 0; column < columns; column += BLOCK) {
    const long next = static_cast<long>(count) * TILE;
    const Bf16* here = right + column / 16 * next;
    for (int row = 0; row < rows; row += BLOCK) {
      const bool first = row == 0 && column == 0;
      const Left from = left.from(row);
      clear();
      for (int k = 0; k < count; k++) {
        add_product(from, here, next, k);
        go_on(at_once);
      }
      if (!first) block(last_row, last_column, numbers[1 - now]);
      store_block(numbers[now], BLOCK);
      last_row = row;
      last_column = column;
      done = 0;
      now = 1 - now;
    }
  }
  go_on(BLOCK);
  block(last_row, last_column, numbers[1 - now]);
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
    if (from) {
      load_block(at, out);
    } else {
      clear();
    }
    const long next = static_cast<long>(tiles) * TILE;
    const Bf16* left = inputs + (static_cast<long>(row / 16) * tiles + from) * TILE;
    add_products(as_tiles(left, tiles), outputs + (static_cast<long>(column / 16) * tiles + from) * TILE, next, few);
    store_block(at, out);
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
