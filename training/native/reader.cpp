// What a model of Llama's architecture expects at places of texts, as draws of equal weight.
#include <numeric>

#include "llama.h"
#include "threads.h"

constexpr int BLOCKS = WORDS / BLOCK;
constexpr float MOST_SCORE = 60;

class Drawer {
 public:
  // For `count` `places` of `given` [tokens, WIDTH], `draws` words each: at equal distances of the sum of exp(scores),
  // the first one `chances` of such a distance from the start. Whether all exponentials of scores are told apart.
  bool draw(const Network& network, const Bf16* given, const int* places, const float* chances, int count, int draws,
            int32_t* drawn) {
    bool told_apart = true;
    for (int from = 0; from < count; from += AT_ONCE) {
      const int n = std::min(AT_ONCE, count - from), rows = (n + BLOCK - 1) / BLOCK * BLOCK;
      for (int i = 0; i < rows; i++) {
        const int place = places[std::min(from + i, count - 1)];
        memcpy(asked_ + i * WIDTH, given + static_cast<long>(place) * WIDTH, WIDTH * sizeof(Bf16));
      }
      std::fill(largest_.begin(), largest_.end(), all(-INFINITY));
      multiply(as_rows(asked_, WIDTH), network.scoring.tiles, rows, WORDS, WIDTH / 32,
               [&](int row, int column, const float* line) {
                 const Floats scores[2] = {_mm512_load_ps(line), _mm512_load_ps(line + 16)};
                 largest_[row] = _mm512_max_ps(largest_[row], _mm512_max_ps(scores[0], scores[1]));
                 const Floats first = exp_of(scores[0]), second = exp_of(scores[1]);
                 store<Soon::no>(weights_ + static_cast<long>(row) * WORDS + column, first, second);
                 block_sums_[static_cast<long>(row) * BLOCKS + column / BLOCK] =
                     _mm512_reduce_add_ps(_mm512_add_ps(first, second));
               });
      for (int row = 0; row < n; row++) {
        told_apart &= std::abs(_mm512_reduce_max_ps(largest_[row])) < MOST_SCORE;
        draw_of_row(row, chances[from + row], draws, drawn + static_cast<long>(from + row) * draws);
      }
    }
    return told_apart;
  }

 private:
  void draw_of_row(int row, float chance, int draws, int32_t* drawn) const {
    const float* sums = block_sums_ + static_cast<long>(row) * BLOCKS;
    double total = 0, before = 0;
    for (int block = 0; block < BLOCKS; block++) total += sums[block];
    int block = 0;
    for (int i = 0; i < draws; i++) {
      const double point = (i + chance) / draws * total;
      while (block < BLOCKS - 1 && before + sums[block] < point) before += sums[block++];
      const Bf16* weights = weights_ + static_cast<long>(row) * WORDS + block * BLOCK;
      alignas(64) float each[BLOCK];
      for (int half = 0; half < BLOCK; half += 16) store(each + half, load(weights + half));
      int word = 0;
      for (double sum = before + each[0]; word < BLOCK - 1 && sum < point; sum += each[word]) word++;
      drawn[i] = block * BLOCK + word;
    }
  }

  Buffer<float> block_sums_{size_t{AT_ONCE} * BLOCKS};
  Buffer<Bf16> asked_{AT_ONCE * WIDTH}, weights_{size_t{AT_ONCE} * WORDS};
  std::vector<Floats> largest_ = std::vector<Floats>(AT_ONCE);
};

class Reader {
 public:
  Reader(const float* const* given, const float* cosines, const float* sines, int threads)
      : network_(given, cosines, sines), threads_(threads) {}

  // Windows of `tokens` [windows, length]; of window w the `counts[w]` next ones of `places`, `chances` and `drawn`.
  bool read(const int64_t* tokens, int windows, int length, const int* counts, const int* places, const float* chances,
            int draws, int32_t* drawn, float* given) {
    std::vector<int> starts(windows + 1);
    for (int i = 0; i < windows; i++) starts[i + 1] = starts[i] + counts[i];
    return in_all([&](int number, Thread& thread) {
      bool told_apart = true;
      for (int window = number; window < windows; window += static_cast<int>(threads_.size())) {
        const long from = starts[window];
        thread.worker.read(network_, tokens + static_cast<long>(window) * length, length);
        told_apart &= thread.drawer.draw(network_, thread.worker.given(), places + from, chances + from,
                                         counts[window], draws, drawn + from * draws);
        for (long i = 0; given && i < static_cast<long>(length) * WIDTH; i += 16) {
          store(given + static_cast<long>(window) * length * WIDTH + i, load(thread.worker.given() + i));
        }
      }
      return told_apart;
    });
  }

  // `rows` texts for each thread.
  void remember(int rows, int longest) {
    for (Thread& thread : threads_) thread.worker.remember(rows, longest);
    rows_.resize(rows);
    std::iota(rows_.begin(), rows_.end(), 0);
  }

  // Behind the token at `places` [threads * rows] of each text.
  bool grow(const int64_t* tokens, const int* places, const float* chances, int draws, int32_t* drawn) {
    const int rows = static_cast<int>(rows_.size());
    return in_all([&](int number, Thread& thread) {
      const long from = static_cast<long>(number) * rows;
      thread.worker.write(network_, tokens + from, places + from, rows);
      return thread.drawer.draw(network_, thread.worker.given(), rows_.data(), chances + from, rows, draws,
                                drawn + from * draws);
    });
  }

 private:
  struct Thread {
    Worker worker;
    Drawer drawer;
  };

  // Whether `work` was right in every thread.
  template <class Work>
  bool in_all(Work work) {
    std::vector<char> right(threads_.size());
    in_threads(static_cast<int>(threads_.size()), [&](int thread) {
      const Ready ready;
      right[thread] = work(thread, threads_[thread]);
    });
    return std::all_of(right.begin(), right.end(), [](char each) { return each; });
  }

  const Network network_;
  std::vector<Thread> threads_;
  std::vector<int> rows_;
};

extern "C" {
Reader* reader_new(const float* const* given, const float* cosines, const float* sines, int threads) {
  return new Reader(given, cosines, sines, threads);
}
void reader_delete(Reader* reader) { delete reader; }
int reader_read(Reader* reader, const int64_t* tokens, int windows, int length, const int* counts, const int* places,
                const float* chances, int draws, int32_t* drawn, float* given) {
  return reader->read(tokens, windows, length, counts, places, chances, draws, drawn, given);
}
void reader_remember(Reader* reader, int rows, int longest) { reader->remember(rows, longest); }
int reader_grow(Reader* reader, const int64_t* tokens, const int* places, const float* chances, int draws,
                int32_t* drawn) {
  return reader->grow(tokens, places, chances, draws, drawn);
}
}
