// Sixteen numbers at a time: bfloat16 and back, exp, the sigmoid inside GELU, and 16 x 16 transposition.
#pragma once
#include <immintrin.h>

#include <cstdint>

using Bf16 = uint16_t;
using Floats = __m512;

inline Floats zeros() { return _mm512_setzero_ps(); }
inline Floats all(float value) { return _mm512_set1_ps(value); }
inline Floats load(const float* at) { return _mm512_loadu_ps(at); }
inline void store(float* at, Floats value) { _mm512_storeu_ps(at, value); }
inline void add_to(float* at, Floats value) { store(at, _mm512_add_ps(load(at), value)); }

inline Floats load(const Bf16* at) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline void store(Bf16* at, Floats value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value)));
}

// Whether what is written is read again soon; if not, it goes past the caches, a whole line at once.
enum class Soon { yes, no };
template <Soon soon>
inline void store_line(void* at, __m512i line) {
  if (soon == Soon::yes) {
    _mm512_store_si512(at, line);
  } else {
    _mm512_stream_si512(static_cast<__m512i*>(at), line);
  }
}
// 32 numbers, which are one line of the cache; `at` is on its border.
template <Soon soon>
inline void store(Bf16* at, Floats first, Floats second) {
  store_line<soon>(at, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
}

// first[0], second[0], first[1], second[1], ...: how tiles want two rows of the right-hand side.
inline __m512i interleaved(__m256i first, __m256i second) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(first), _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
}
inline __m512i interleaved(const Bf16* first, const Bf16* second) {
  return interleaved(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(first)),
                     _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second)));
}
inline __m512i interleaved(Floats first, Floats second) {
  return interleaved(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(first)),
                     reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(second)));
}

// e^x to four digits, which is more than bfloat16 holds; beyond +-80 it is that of +-80.
inline Floats exp_of(Floats x) {
  x = _mm512_max_ps(_mm512_min_ps(x, all(80.f)), all(-80.f));
  const Floats twos = _mm512_mul_ps(x, all(1.44269504f));
  const Floats whole = _mm512_roundscale_ps(twos, 0);
  const Floats rest = _mm512_sub_ps(twos, whole);
  Floats power = all(9.6181291e-3f);
  for (const float next : {5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.f}) {
    power = _mm512_fmadd_ps(power, rest, all(next));
  }
  return _mm512_scalef_ps(power, whole);
}

// GELU as GPT-2 has it (Hendrycks and Gimpel, 2016, with tanh) is x times a sigmoid: this one of x, given its square.
inline Floats gelu_sigmoid(Floats x, Floats square) {
  const Floats inside = _mm512_mul_ps(_mm512_mul_ps(all(-1.5957691216f), x),
                                      _mm512_fmadd_ps(square, all(0.044715f), all(1.f)));
  return _mm512_rcp14_ps(_mm512_add_ps(exp_of(inside), all(1.f)));
}

inline void transpose(__m512i* rows) {
  __m512i mixed[16];
  for (int i = 0; i < 8; i++) {
    mixed[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    mixed[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(mixed[i], mixed[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(mixed[i], mixed[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(mixed[i + 1], mixed[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(mixed[i + 1], mixed[i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    mixed[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    mixed[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
    mixed[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    mixed[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; i++) {
    rows[i] = _mm512_shuffle_i32x4(mixed[i], mixed[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(mixed[i], mixed[i + 8], 0xdd);
    rows[i + 4] = _mm512_shuffle_i32x4(mixed[i + 4], mixed[i + 12], 0x88);
    rows[i + 12] = _mm512_shuffle_i32x4(mixed[i + 4], mixed[i + 12], 0xdd);
  }
}
