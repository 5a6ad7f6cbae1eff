// Llama's architecture (Touvron et al., 2023), small: what it expects at places of texts, as draws of equal weight.
//
// A thread has windows of its own and goes through all layers with them, 256 tokens at a time where the numbers so stay
// in its cache.
#include <algorithm>
#include <cmath>

#include "attention.h"
#include "threads.h"

constexpr int WIDTH = NETWORK_WIDTH, INNER = NETWORK_INNER, LAYERS = NETWORK_LAYERS, WORDS = NETWORK_WORDS;
constexpr int HEADS = NETWORK_HEADS, SHARED = NETWORK_SHARED;  // heads of queries, and of keys and values
constexpr int ATTENDED = HEADS * HEAD, JOINT = ATTENDED + 2 * SHARED * HEAD, HALF = HEAD / 2;
constexpr int AT_ONCE = 256, BLOCKS = WORDS / BLOCK;
constexpr float EPSILON = 1e-5f, MOST_SCORE = 60;
static_assert(WIDTH % 32 == 0 && INNER % 32 == 0 && WORDS % 32 == 0 && HEADS % SHARED == 0 && LONGEST % AT_ONCE == 0);

enum Parameter { NORM_1, QUERIES, KEYS, VALUES, JOIN, NORM_2, GATE, WIDEN, NARROW, OF_A_LAYER };
constexpr int WORD = 0, LAST_NORM = 1, HEAD_ROWS = 2, FIRST_LAYER = 3;

// A matrix [out, in] as the right-hand side's tiles.
struct Weight {
  Buffer<Bf16> tiles;
  Weight(const std::vector<const float*>& parts, const std::vector<int>& outs, int in) {
    int out = 0;
    for (const int each : outs) out += each;
    tiles = Buffer<Bf16>(static_cast<size_t>(out) * in);
    const Buffer<Bf16> rows(static_cast<size_t>(out) * in);
    Bf16* to = rows;
    for (size_t part = 0; part < parts.size(); part++) {
      for (long i = 0; i < static_cast<long>(outs[part]) * in; i += 16, to += 16) store(to, load(parts[part] + i));
    }
    tiles_over_columns(rows, in, out, in, tiles);
  }
};
struct Layer {
  const float *norm_1, *norm_2;
  Weight joint, join, gate, widen, narrow;
  explicit Layer(const float* const* given)
      : norm_1(given[NORM_1]), norm_2(given[NORM_2]),
        joint({given[QUERIES], given[KEYS], given[VALUES]}, {ATTENDED, SHARED * HEAD, SHARED * HEAD}, WIDTH),
        join({given[JOIN]}, {WIDTH}, ATTENDED), gate({given[GATE]}, {INNER}, WIDTH),
        widen({given[WIDEN]}, {INNER}, WIDTH), narrow({given[NARROW]}, {WIDTH}, INNER) {}
};
struct Network {
  const float *words, *last_norm, *cosines, *sines;  // the last two [LONGEST, HALF]
  std::vector<std::unique_ptr<Layer>> layers;
  Weight scoring;
  Network(const float* const* given, const float* cosines, const float* sines)
      : words(given[WORD]), last_norm(given[LAST_NORM]), cosines(cosines), sines(sines),
        scoring({given[HEAD_ROWS]}, {WORDS}, WIDTH) {
    for (int i = 0; i < LAYERS; i++) layers.push_back(std::make_unique<Layer>(given + FIRST_LAYER + OF_A_LAYER * i));
  }
};

class Worker {
 public:
  // The last norm's outputs [length, WIDTH] for one window.
  void read(const Network& network, const int64_t* tokens, int length) {
    for (int row = 0; row < length; row++) memcpy(path_ + row * WIDTH, network.words + tokens[row] * WIDTH, 4 * WIDTH);
    for (const auto& layer : network.layers) {
      by_parts(length, [&](int from, int n) {
        norm(layer->norm_1, from, n);
        multiply(as_rows(normal_, WIDTH), layer->joint.tiles, n, JOINT, WIDTH / 32,
                 [&](int row, int column, const float* line) {
                   float* at = joint_ + static_cast<long>(row) * JOINT + column;
                   store(at, _mm512_load_ps(line));
                   store(at + 16, _mm512_load_ps(line + 16));
                 });
        turn(network, from, n);
      });
      for (int head = 0; head < HEADS; head++) {
        Bf16* shared = turned_ + ATTENDED + head / (HEADS / SHARED) * HEAD;
        attend(head_, {turned_ + head * HEAD, shared, shared + SHARED * HEAD, JOINT}, length, attended_ + head * HEAD,
               ATTENDED, sums_, 1);
      }
      by_parts(length, [&](int from, int n) {
        add_to_path(as_rows(attended_, ATTENDED).from(from), layer->join, ATTENDED, from, n);
        norm(layer->norm_2, from, n);
        const Left left = as_rows(normal_, WIDTH);
        multiply(left, layer->gate.tiles, n, INNER, WIDTH / 32, [&](int row, int column, const float* line) {
          for (int half = 0; half < BLOCK; half += 16) {
            const Floats x = _mm512_load_ps(line + half), less = _mm512_sub_ps(zeros(), x);
            const Floats silu = _mm512_div_ps(x, _mm512_add_ps(exp_of(less), all(1.f)));
            store(gate_ + static_cast<long>(row) * INNER + column + half, silu);
          }
        });
        multiply(left, layer->widen.tiles, n, INNER, WIDTH / 32, [&](int row, int column, const float* line) {
          const long at = static_cast<long>(row) * INNER + column;
          store<Soon::yes>(inner_ + at, _mm512_mul_ps(_mm512_load_ps(line), load(gate_ + at)),
                           _mm512_mul_ps(_mm512_load_ps(line + 16), load(gate_ + at + 16)));
        });
        add_to_path(as_rows(inner_, INNER), layer->narrow, INNER, from, n);
      });
    }
    for (int from = 0; from < length; from += AT_ONCE) {
      const int n = std::min(AT_ONCE, length - from);
      norm(network.last_norm, from, n);
      memcpy(given_ + static_cast<long>(from) * WIDTH, normal_, static_cast<size_t>(n) * WIDTH * sizeof(Bf16));
    }
  }

  // For `count` of the window's `places`, `draws` words each: at equal distances of the sum of exp(scores), the first
  // one `chances` of such a distance from the start. Whether all scores are ones whose exponentials are told apart.
  bool draw(const Network& network, const int* places, const float* chances, int count, int draws, int32_t* drawn) {
    bool told_apart = true;
    for (int from = 0; from < count; from += AT_ONCE) {
      const int n = std::min(AT_ONCE, count - from), rows = (n + BLOCK - 1) / BLOCK * BLOCK;
      for (int i = 0; i < rows; i++) {
        const Bf16* given = given_ + static_cast<long>(places[std::min(from + i, count - 1)]) * WIDTH;
        memcpy(normal_ + i * WIDTH, given, WIDTH * sizeof(Bf16));
      }
      std::fill(largest_.begin(), largest_.end(), all(-INFINITY));
      multiply(as_rows(normal_, WIDTH), network.scoring.tiles, rows, WORDS, WIDTH / 32,
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

  const Bf16* given() const { return given_; }

 private:
  template <class Part>
  static void by_parts(int length, Part part) {
    for (int from = 0; from < length; from += AT_ONCE) part(from, std::min(AT_ONCE, length - from));
  }

  // RMS norm (Zhang and Sennrich, 2019) of `n` rows of the path.
  void norm(const float* weight, int from, int n) {
    for (int row = 0; row < n; row++) {
      const float* x = path_ + static_cast<long>(from + row) * WIDTH;
      Floats sum = zeros();
      for (int i = 0; i < WIDTH; i += 16) sum = _mm512_fmadd_ps(load(x + i), load(x + i), sum);
      const Floats scale = all(1.f / std::sqrt(_mm512_reduce_add_ps(sum) / WIDTH + EPSILON));
      for (int i = 0; i < WIDTH; i += 16) {
        store(normal_ + row * WIDTH + i, _mm512_mul_ps(_mm512_mul_ps(load(x + i), scale), load(weight + i)));
      }
    }
  }

  // Queries and keys turned by their places (RoPE: Su et al., 2021), half against half; values as they are.
  void turn(const Network& network, int from, int n) {
    for (int row = 0; row < n; row++) {
      const float* joint = joint_ + static_cast<long>(row) * JOINT;
      Bf16* to = turned_ + static_cast<long>(from + row) * JOINT;
      const float *cosines = network.cosines + (from + row) * HALF, *sines = network.sines + (from + row) * HALF;
      for (int at = 0; at < ATTENDED + SHARED * HEAD; at += HEAD) {
        for (int i = 0; i < HALF; i += 16) {
          const Floats first = load(joint + at + i), second = load(joint + at + HALF + i);
          const Floats cosine = load(cosines + i), sine = load(sines + i);
          store(to + at + i, _mm512_fmsub_ps(first, cosine, _mm512_mul_ps(second, sine)));
          store(to + at + HALF + i, _mm512_fmadd_ps(second, cosine, _mm512_mul_ps(first, sine)));
        }
      }
      for (int at = ATTENDED + SHARED * HEAD; at < JOINT; at += 16) store(to + at, load(joint + at));
    }
  }

  void add_to_path(const Left& left, const Weight& weight, int in, int from, int n) {
    multiply(left, weight.tiles, n, WIDTH, in / 32, [&](int row, int column, const float* line) {
      float* at = path_ + static_cast<long>(from + row) * WIDTH + column;
      add_to(at, _mm512_load_ps(line));
      add_to(at + 16, _mm512_load_ps(line + 16));
    });
  }

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

  Buffer<float> path_{LONGEST * WIDTH}, joint_{AT_ONCE * JOINT}, gate_{AT_ONCE * INNER}, sums_{LONGEST};
  Buffer<float> block_sums_{size_t{AT_ONCE} * BLOCKS};
  Buffer<Bf16> normal_{AT_ONCE * WIDTH}, given_{LONGEST * WIDTH}, turned_{LONGEST * JOINT};
  Buffer<Bf16> attended_{LONGEST * ATTENDED}, inner_{AT_ONCE * INNER}, weights_{size_t{AT_ONCE} * WORDS};
  std::vector<Floats> largest_ = std::vector<Floats>(AT_ONCE);
  HeadSpace head_;
};

class Reader {
 public:
  Reader(const float* const* given, const float* cosines, const float* sines, int threads)
      : network_(given, cosines, sines) {
    for (int i = 0; i < threads; i++) workers_.push_back(std::make_unique<Worker>());
  }
  // Windows of `tokens` [windows, length]; of window w the `counts[w]` next ones of `places`, `chances` and `drawn`.
  bool run(const int64_t* tokens, int windows, int length, const int* counts, const int* places, const float* chances,
           int draws, int32_t* drawn, float* given) {
    const int threads = static_cast<int>(workers_.size());
    std::vector<int> starts(windows + 1);
    for (int i = 0; i < windows; i++) starts[i + 1] = starts[i] + counts[i];
    std::vector<char> told_apart(threads, true);
    in_threads(threads, [&](int thread) {
      const Ready ready;
      Worker& worker = *workers_[thread];
      for (int window = thread; window < windows; window += threads) {
        const int from = starts[window];
        worker.read(network_, tokens + static_cast<long>(window) * length, length);
        told_apart[thread] &= worker.draw(network_, places + from, chances + from, counts[window], draws,
                                          drawn + static_cast<long>(from) * draws);
        for (long i = 0; given && i < static_cast<long>(length) * WIDTH; i += 16) {
          store(given + static_cast<long>(window) * length * WIDTH + i, load(worker.given() + i));
        }
      }
    });
    return std::all_of(told_apart.begin(), told_apart.end(), [](char each) { return each; });
  }

 private:
  const Network network_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

extern "C" {
Reader* reader_new(const float* const* given, const float* cosines, const float* sines, int threads) {
  return new Reader(given, cosines, sines, threads);
}
void reader_delete(Reader* reader) { delete reader; }
int reader_run(Reader* reader, const int64_t* tokens, int windows, int length, const int* counts, const int* places,
               const float* chances, int draws, int32_t* drawn, float* given) {
  return reader->run(tokens, windows, length, counts, places, chances, draws, drawn, given);
}
}
