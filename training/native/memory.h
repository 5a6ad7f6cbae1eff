// Keys and values of texts that are being written, and how a token looks back at them.
#pragma once
#include "attention.h"

constexpr int HEADS = NETWORK_HEADS, SHARED = NETWORK_SHARED;  // heads of queries, and of keys and values
constexpr int KEYS_AND_VALUES = 2 * SHARED * HEAD;
static_assert(HEADS % SHARED == 0);

class Memory {
 public:
  Memory() = default;
  Memory(int layers, int rows, int longest)
      : rows_(rows), longest_(longest), written_(size_t{1} * layers * rows * longest * KEYS_AND_VALUES) {}

  // outputs [HEADS, HEAD] of the token at `place` of a text, whose keys and values [2, SHARED, HEAD] are kept.
  void look_back(int layer, int row, int place, const Bf16* queries, const Bf16* keys_and_values, Bf16* outputs) {
    Bf16* text = written_ + (static_cast<long>(layer) * rows_ + row) * longest_ * KEYS_AND_VALUES;
    memcpy(text + static_cast<long>(place) * KEYS_AND_VALUES, keys_and_values, KEYS_AND_VALUES * sizeof(Bf16));
    for (int shared = 0; shared < SHARED; shared++) {
      const Bf16* keys = text + shared * HEAD;
      attend(queries + shared * TOGETHER * HEAD, keys, keys + SHARED * HEAD, place + 1,
             outputs + shared * TOGETHER * HEAD);
    }
  }

 private:
  static constexpr int TOGETHER = HEADS / SHARED;

  // The heads that share keys and values, over `count` places.
  static void attend(const Bf16* queries, const Bf16* keys, const Bf16* values, int count, Bf16* outputs) {
    alignas(64) float weights[TOGETHER][LONGEST];
    weigh(queries, keys, count, weights);
    Floats sums[TOGETHER][HEAD / 16];
    float parts[TOGETHER];
    for (int head = 0; head < TOGETHER; head++) {
      parts[head] = 1.f / exponentials(weights[head], count);
      for (Floats& each : sums[head]) each = zeros();
    }
    for (int at = 0; at < count; at++, values += KEYS_AND_VALUES) {
      for (int i = 0; i < HEAD / 16; i++) {
        const Floats numbers = load(values + 16 * i);
        for (int head = 0; head < TOGETHER; head++) {
          sums[head][i] = _mm512_fmadd_ps(all(weights[head][at]), numbers, sums[head][i]);
        }
      }
    }
    for (int head = 0; head < TOGETHER; head++, outputs += HEAD) {
      for (int i = 0; i < HEAD / 16; i++) store(outputs + 16 * i, _mm512_mul_ps(sums[head][i], all(parts[head])));
    }
  }

  static void weigh(const Bf16* queries, const Bf16* keys, int count, float (*scores)[LONGEST]) {
    static_assert(HEAD == 64);
    __m512bh asked[TOGETHER][2];
    for (int head = 0; head < TOGETHER; head++) {
      asked[head][0] = pairs(queries + head * HEAD), asked[head][1] = pairs(queries + head * HEAD + 32);
    }
    for (int at = 0; at < count; at++, keys += KEYS_AND_VALUES) {
      const __m512bh first = pairs(keys), second = pairs(keys + 32);
      for (int head = 0; head < TOGETHER; head++) {
        const Floats half = _mm512_dpbf16_ps(zeros(), asked[head][0], first);
        scores[head][at] = 0.125f * _mm512_reduce_add_ps(_mm512_dpbf16_ps(half, asked[head][1], second));
      }
    }
  }

  // exp(score - the largest) in the scores' place, and their sum.
  static float exponentials(float* scores, int count) {
    for (; count % 16; count++) scores[count] = -1e30f;
    Floats most = all(-INFINITY), total = zeros();
    for (int at = 0; at < count; at += 16) most = _mm512_max_ps(most, _mm512_load_ps(scores + at));
    const Floats less = all(_mm512_reduce_max_ps(most));
    for (int at = 0; at < count; at += 16) {
      const Floats each = exp_of(_mm512_max_ps(_mm512_sub_ps(_mm512_load_ps(scores + at), less), all(-80.f)));
      total = _mm512_add_ps(total, each);
      _mm512_store_ps(scores + at, each);
    }
    return _mm512_reduce_add_ps(total);
  }

  static __m512bh pairs(const Bf16* at) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(at)); }

  int rows_ = 0, longest_ = 0;
  Buffer<Bf16> written_;
};
