// Muon (Jordan et al., 2024), as torch.optim.Muon has it: momentum, five Newton-Schulz iterations in bfloat16 that make
// the change nearly orthogonal, weight decay apart from it.
#include <algorithm>
#include <cmath>

#include "threads.h"
#include "tiles.h"

constexpr int WIDTH = NETWORK_WIDTH, INNER = 4 * WIDTH;
static_assert(WIDTH % 32 == 0);

class Muon {
 public:
  // One step of a matrix [rows, columns], of which one is WIDTH and none is less.
  void step(float* values, const float* gradient, float* momentum, int rows, int columns, float rate, float decay,
            float kept) {
    const int size = rows * columns, longer = std::max(rows, columns);
    Floats squares = zeros();
    for (int i = 0; i < size; i += 16) {
      const Floats fresh = load(gradient + i), old = load(momentum + i);
      const Floats mean = _mm512_fmadd_ps(all(1 - kept), _mm512_sub_ps(fresh, old), old);
      store(momentum + i, mean);
      const Floats ahead = _mm512_fmadd_ps(all(kept), _mm512_sub_ps(mean, fresh), fresh);  // Nesterov's
      squares = _mm512_fmadd_ps(ahead, ahead, squares);
      store(change_ + i, ahead);
    }
    const bool tall = rows > columns;
    if (tall) transpose_matrix(change_, rows, columns, turned_);
    const float* start = tall ? turned_ : change_;
    const Floats scale = all(1.f / std::max(std::sqrt(_mm512_reduce_add_ps(squares)), 1e-7f));
    for (int i = 0; i < size; i += 16) store(matrix_ + i, _mm512_mul_ps(scale, load(start + i)));
    for (int i = 0; i < 5; i++) iterate(longer);
    for (int i = 0; i < size; i += 16) store(turned_ + i, load(matrix_ + i));
    if (tall) transpose_matrix(turned_, columns, rows, change_);
    const float* change = tall ? change_ : turned_;
    const Floats length = all(rate * std::sqrt(std::max(1.f, static_cast<float>(rows) / columns)));
    for (int i = 0; i < size; i += 16) {
      const Floats smaller = _mm512_mul_ps(all(1 - rate * decay), load(values + i));
      store(values + i, _mm512_fnmadd_ps(length, load(change + i), smaller));
    }
  }

 private:
  static void transpose_matrix(const float* from, int rows, int columns, float* to) {
    for (int row = 0; row < rows; row += 16) {
      for (int column = 0; column < columns; column += 16) {
        __m512i lines[16];
        for (int i = 0; i < 16; i++) lines[i] = _mm512_loadu_si512(from + (row + i) * columns + column);
        transpose(lines);
        for (int i = 0; i < 16; i++) _mm512_storeu_si512(to + (column + i) * rows + row, lines[i]);
      }
    }
  }
  // X [WIDTH, longer] becomes aX + (bA + cAA)X, where A is X times its transpose.
  void iterate(int longer) {
    const float a = 3.4445f, b = -4.7750f, c = 2.0315f;
    tiles_over_columns(matrix_, longer, WIDTH, longer, tiles_);
    multiply(as_rows(matrix_, longer), tiles_, WIDTH, WIDTH, longer / 32, [&](int row, int column, const float* line) {
      each_line(row, column, WIDTH, line, squared_, [&](Floats product, long) { return product; });
    });
    tiles_over_rows<Soon::yes>(squared_, WIDTH, WIDTH, WIDTH, tiles_);
    multiply(as_rows(squared_, WIDTH), tiles_, WIDTH, WIDTH, WIDTH / 32, [&](int row, int column, const float* line) {
      each_line(row, column, WIDTH, line, factor_, [&](Floats product, long at) {
        return _mm512_fmadd_ps(all(c), product, _mm512_mul_ps(all(b), load(squared_ + at)));
      });
    });
    tiles_over_rows<Soon::yes>(matrix_, longer, WIDTH, longer, tiles_);
    multiply(as_rows(factor_, WIDTH), tiles_, WIDTH, longer, WIDTH / 32, [&](int row, int column, const float* line) {
      each_line(row, column, longer, line, next_, [&](Floats product, long at) {
        return _mm512_fmadd_ps(all(a), load(matrix_ + at), product);
      });
    });
    std::swap(matrix_, next_);
  }
  template <class Of>
  static void each_line(int row, int column, int width, const float* line, Bf16* to, Of of) {
    const long at = static_cast<long>(row) * width + column;
    store<Soon::yes>(to + at, of(_mm512_load_ps(line), at), of(_mm512_load_ps(line + 16), at + 16));
  }

  Buffer<float> change_{WIDTH * INNER}, turned_{WIDTH * INNER};
  Buffer<Bf16> matrix_{WIDTH * INNER}, next_{WIDTH * INNER}, tiles_{WIDTH * INNER};
  Buffer<Bf16> squared_{WIDTH * WIDTH}, factor_{WIDTH * WIDTH};
};

extern "C" {
std::vector<Muon>* muons_new(int threads) { return new std::vector<Muon>(threads); }
void muons_delete(std::vector<Muon>* muons) { delete muons; }
void muons_step(std::vector<Muon>* muons, int count, float* const* values, const float* const* gradients,
                float* const* momenta, const int* rows, const int* columns, float rate, float decay, float kept) {
  const int threads = static_cast<int>(muons->size());
  in_threads(threads, [&](int thread) {
    const Ready ready;
    for (int i = count * thread / threads; i < count * (thread + 1) / threads; i++) {
      (*muons)[thread].step(values[i], gradients[i], momenta[i], rows[i], columns[i], rate, decay, kept);
    }
  });
}
}
