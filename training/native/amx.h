// Products in a processor's tiles (Intel AMX).
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include "blocks.h"

// While it lives, this thread may use tiles, all eight of them of 16 rows of 64 bytes.
struct Ready {
  Ready() {
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
  ~Ready() { _tile_release(); }
};

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
// A block at `at`, its rows `width` apart, becomes the product of `count` tiles either way; or that is added to it.
inline void sum_products(float* at, long width, bool add, const Left& left, const Bf16* right, long next, int count) {
  if (add) {
    load_block(at, width);
  } else {
    clear();
  }
  for (int k = 0; k < count; k++) add_product(left, right, next, k);
  store_block(at, width);
}

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
