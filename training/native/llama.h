// Llama's architecture (Touvron et al., 2023), small, without gradients.
//
// A thread has texts of its own and goes through all layers with them, 256 tokens at a time where the numbers so stay
// in its cache: with one text as a whole, or with the newest token of each of many that are being written.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "memory.h"

constexpr int WIDTH = NETWORK_WIDTH, INNER = NETWORK_INNER, LAYERS = NETWORK_LAYERS, WORDS = NETWORK_WORDS;
constexpr int ATTENDED = HEADS * HEAD, JOINT = ATTENDED + KEYS_AND_VALUES, HALF = HEAD / 2, AT_ONCE = 256;
constexpr float EPSILON = 1e-5f;
static_assert(WIDTH % 32 == 0 && INNER % 32 == 0 && WORDS % 32 == 0 && LONGEST % AT_ONCE == 0);

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
      by_parts(length, [&](int from, int n) { ask(network, *layer, from, n, nullptr); });
      for (int head = 0; head < HEADS; head++) {
        Bf16* shared = turned_ + ATTENDED + head / (HEADS / SHARED) * HEAD;
        attend(head_, {turned_ + head * HEAD, shared, shared + SHARED * HEAD, JOINT}, length, attended_ + head * HEAD,
               ATTENDED, sums_, 1);
      }
      by_parts(length, [&](int from, int n) { widen(*layer, from, n); });
    }
    give(network, length);
  }

  // The same for the token at `places[row]` of each of `rows` texts that are remembered up to there.
  void write(const Network& network, const int64_t* tokens, const int* places, int rows) {
    for (int row = 0; row < rows; row++) memcpy(path_ + row * WIDTH, network.words + tokens[row] * WIDTH, 4 * WIDTH);
    for (size_t layer = 0; layer < network.layers.size(); layer++) {
      const Layer& here = *network.layers[layer];
      by_parts(rows, [&](int from, int n) { ask(network, here, from, n, places); });
      for (int row = 0; row < rows; row++) {
        const Bf16* turned = turned_ + static_cast<long>(row) * JOINT;
        memory_.look_back(static_cast<int>(layer), row, places[row], turned, turned + ATTENDED,
                          attended_ + static_cast<long>(row) * ATTENDED);
      }
      by_parts(rows, [&](int from, int n) { widen(here, from, n); });
    }
    give(network, rows);
  }

  // Makes room for `rows` texts of up to `longest` tokens; what was written before is forgotten.
  void remember(int rows, int longest) { memory_ = Memory(LAYERS, rows, longest); }

  // [tokens, WIDTH].
  const Bf16* given() const { return given_; }

 private:
  void ask(const Network& network, const Layer& layer, int from, int n, const int* places) {
    norm(layer.norm_1, from, n);
    multiply(as_rows(normal_, WIDTH), layer.joint.tiles, n, JOINT, WIDTH / 32,
             [&](int row, int column, const float* line) {
               float* at = joint_ + static_cast<long>(row) * JOINT + column;
               store(at, _mm512_load_ps(line));
               store(at + 16, _mm512_load_ps(line + 16));
             });
    turn(network, from, n, places);
  }

  void widen(const Layer& layer, int from, int n) {
    add_to_path(as_rows(attended_, ATTENDED).from(from), layer.join, ATTENDED, from, n);
    norm(layer.norm_2, from, n);
    const Left left = as_rows(normal_, WIDTH);
    multiply(left, layer.gate.tiles, n, INNER, WIDTH / 32, [&](int row, int column, const float* line) {
      for (int half = 0; half < BLOCK; half += 16) {
        const Floats x = _mm512_load_ps(line + half), less = _mm512_sub_ps(zeros(), x);
        const Floats silu = _mm512_div_ps(x, _mm512_add_ps(exp_of(less), all(1.f)));
        store(gate_ + static_cast<long>(row) * INNER + column + half, silu);
      }
    });
    multiply(left, layer.widen.tiles, n, INNER, WIDTH / 32, [&](int row, int column, const float* line) {
      const long at = static_cast<long>(row) * INNER + column;
      store<Soon::yes>(inner_ + at, _mm512_mul_ps(_mm512_load_ps(line), load(gate_ + at)),
                       _mm512_mul_ps(_mm512_load_ps(line + 16), load(gate_ + at + 16)));
    });
    add_to_path(as_rows(inner_, INNER), layer.narrow, INNER, from, n);
  }

  void give(const Network& network, int rows) {
    for (int from = 0; from < rows; from += AT_ONCE) {
      const int n = std::min(AT_ONCE, rows - from);
      norm(network.last_norm, from, n);
      memcpy(given_ + static_cast<long>(from) * WIDTH, normal_, static_cast<size_t>(n) * WIDTH * sizeof(Bf16));
    }
  }

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
  void turn(const Network& network, int from, int n, const int* places) {
    for (int row = 0; row < n; row++) {
      const float* joint = joint_ + static_cast<long>(row) * JOINT;
      Bf16* to = turned_ + static_cast<long>(from + row) * JOINT;
      const int place = places ? places[from + row] : from + row;
      const float *cosines = network.cosines + place * HALF, *sines = network.sines + place * HALF;
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

  Buffer<float> path_{LONGEST * WIDTH}, joint_{AT_ONCE * JOINT}, gate_{AT_ONCE * INNER}, sums_{LONGEST};
  Buffer<Bf16> normal_{AT_ONCE * WIDTH}, given_{LONGEST * WIDTH}, turned_{LONGEST * JOINT};
  Buffer<Bf16> attended_{LONGEST * ATTENDED}, inner_{AT_ONCE * INNER};
  HeadSpace head_;
  Memory memory_;
};
