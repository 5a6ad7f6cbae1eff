// GPT-2's architecture (Radford et al., 2019), small: the loss of a batch and its gradients.
//
// A thread has windows of its own and goes through all layers with them, 256 tokens at a time where the numbers so
// stay in its cache. Numbers between layers are bfloat16; the sums of products, the path past the layers and all
// gradients of weights are float32.
#include <algorithm>
#include <cmath>

#include "attention.h"
#include "threads.h"

constexpr int WIDTH = NETWORK_WIDTH, LAYERS = NETWORK_LAYERS, WORDS = NETWORK_WORDS, PLACES = LONGEST;
constexpr int INNER = 4 * WIDTH, HEADS = WIDTH / HEAD, JOINT = 3 * WIDTH;
constexpr int AT_ONCE = 256, SCORED_AT_ONCE = 1024;
constexpr float MOST_SCORE = 60;
static_assert(WIDTH % 128 == 0 && WORDS % 2048 == 0);

// Where each parameter stands in a thread's gradients: the embeddings, then layer by layer, then the last norm's.
enum Parameter { NORM_1, NORM_1_BIAS, ATTEND, ATTEND_BIAS, JOIN, JOIN_BIAS, NORM_2, NORM_2_BIAS, WIDEN, WIDEN_BIAS,
                 NARROW, NARROW_BIAS, OF_A_LAYER };
constexpr int EMBEDDING = 0, PLACE = 1, FIRST_LAYER = 2, LAST_NORM = FIRST_LAYER + OF_A_LAYER * LAYERS;
constexpr int PARAMETERS = LAST_NORM + 2;
constexpr int SIZES[OF_A_LAYER] = {WIDTH, WIDTH, WIDTH * JOINT, JOINT, WIDTH * WIDTH, WIDTH,
                                   WIDTH, WIDTH, WIDTH * INNER, INNER, INNER * WIDTH, WIDTH};
inline int size_of(int parameter) {
  if (parameter == EMBEDDING) return WORDS * WIDTH;
  if (parameter == PLACE) return PLACES * WIDTH;
  return parameter >= LAST_NORM ? WIDTH : SIZES[(parameter - FIRST_LAYER) % OF_A_LAYER];
}

// A matrix [in, out] as tiles, for its own products and for those with its transpose.
struct Weight {
  Buffer<Bf16> tiles, transposed;
  Weight() = default;
  Weight(int in, int out) : tiles(static_cast<size_t>(in) * out), transposed(static_cast<size_t>(in) * out) {}
  void read(const float* from, int in, int out, Bf16* space) {
    for (int i = 0; i < in * out; i += 16) store(space + i, load(from + i));
    tiles_over_rows<Soon::yes>(space, out, in, out, tiles);
    tiles_over_columns(space, out, in, out, transposed);
  }
};
struct Layer {
  Weight attend{WIDTH, JOINT}, join{WIDTH, WIDTH}, widen{WIDTH, INNER}, narrow{INNER, WIDTH};
  const float* const* values = nullptr;  // as they were given: the vectors are read there
  void read(const float* const* given, Bf16* space) {
    values = given;
    attend.read(given[ATTEND], WIDTH, JOINT, space);
    join.read(given[JOIN], WIDTH, WIDTH, space);
    widen.read(given[WIDEN], WIDTH, INNER, space);
    narrow.read(given[NARROW], INNER, WIDTH, space);
  }
};
struct Words {
  Buffer<Bf16> rows{WORDS * WIDTH}, scoring{WORDS * WIDTH}, over_words{WORDS * WIDTH};
  void read(const float* given) {
    for (int i = 0; i < WORDS * WIDTH; i += 16) store(rows + i, load(given + i));
    tiles_over_columns(rows, WIDTH, WORDS, WIDTH, scoring);
    tiles_over_rows<Soon::yes>(rows, WIDTH, WORDS, WIDTH, over_words);
  }
};

// Layer norm (Ba et al., 2016) of rows [n, WIDTH]: what it gives, and what its backward pass asks for.
struct Norm {
  Buffer<Bf16> normal, given;
  Buffer<float> scales;
  explicit Norm(int tokens) : normal(size_t(tokens) * WIDTH), given(size_t(tokens) * WIDTH), scales(tokens) {}
  void forward(const float* rows, const float* weight, const float* bias, int from, int n) {
    for (int row = from; row < from + n; row++) {
      const float* x = rows + static_cast<long>(row) * WIDTH;
      Floats values[WIDTH / 16], sum = zeros();
      for (int i = 0; i < WIDTH / 16; i++) sum = _mm512_add_ps(sum, values[i] = load(x + 16 * i));
      const Floats mean = all(_mm512_reduce_add_ps(sum) / WIDTH);
      sum = zeros();
      for (Floats& value : values) {
        value = _mm512_sub_ps(value, mean);
        sum = _mm512_fmadd_ps(value, value, sum);
      }
      const float scale = 1.f / std::sqrt(_mm512_reduce_add_ps(sum) / WIDTH + 1e-5f);
      scales[row] = scale;
      for (int i = 0; i < WIDTH / 16; i++) {
        const Floats value = _mm512_mul_ps(values[i], all(scale));
        const long at = static_cast<long>(row) * WIDTH + 16 * i;
        store(normal + at, value);
        store(given + at, _mm512_fmadd_ps(value, load(weight + 16 * i), load(bias + 16 * i)));
      }
    }
  }
  // `changes` [n, WIDTH] are the gradients of rows `from` on; those of the rows it was given are added to `total`, and
  // left in bfloat16 as well.
  void backward(const float* changes, const float* weight, float* of_weight, float* of_bias, float* total, Bf16* rounded,
                int from, int n) const {
    for (int row = from; row < from + n; row++, changes += WIDTH) {
      const long at = static_cast<long>(row) * WIDTH;
      Floats first = zeros(), second = zeros();
      for (int i = 0; i < WIDTH; i += 16) {
        const Floats change = load(changes + i), value = load(normal + at + i);
        const Floats inside = _mm512_mul_ps(change, load(weight + i));
        store(of_weight + i, _mm512_fmadd_ps(change, value, load(of_weight + i)));
        add_to(of_bias + i, change);
        first = _mm512_add_ps(first, inside);
        second = _mm512_fmadd_ps(inside, value, second);
      }
      const Floats mean = all(_mm512_reduce_add_ps(first) / WIDTH), along = all(_mm512_reduce_add_ps(second) / WIDTH);
      for (int i = 0; i < WIDTH; i += 16) {
        const Floats inside = _mm512_mul_ps(load(changes + i), load(weight + i));
        const Floats rest = _mm512_sub_ps(_mm512_sub_ps(inside, mean), _mm512_mul_ps(load(normal + at + i), along));
        const Floats change = _mm512_fmadd_ps(all(scales[row]), rest, load(total + at + i));
        store(total + at + i, change);
        store(rounded + at + i, change);
      }
    }
  }
};

// What each token is to be followed by: `each` words of a vocabulary, and how much of the whole each of them is.
struct Answers {
  const int64_t* words;
  const float* shares;
  int each;
  Answers from(long token) const { return {words + token * each, shares + token * each, each}; }
};

// What a layer's forward pass leaves for its backward pass.
struct Kept {
  Norm before_attention, before_inner;
  Buffer<Bf16> joint, attended, widened;  // widened: tiles of the left-hand side, before GELU
  Buffer<float> sums;
  explicit Kept(int tokens)
      : before_attention(tokens), before_inner(tokens), joint(size_t(tokens) * JOINT),
        attended(size_t(tokens) * WIDTH), widened(size_t(tokens) * INNER), sums(size_t(tokens) * HEADS) {}
  HeadRows head(int row, int which) const {
    Bf16* at = joint + static_cast<long>(row) * JOINT + which * HEAD;
    return {at, at + WIDTH, at + 2 * WIDTH, JOINT};
  }
};

// One thread's windows, from tokens to gradients.
class Worker {
 public:
  explicit Worker(int tokens)
      : tokens_(tokens), path_(size_t(tokens) * WIDTH), total_(size_t(tokens) * WIDTH),
        rounded_(size_t(tokens) * WIDTH), last_(tokens), of_attended_(size_t(tokens) * WIDTH),
        of_joint_(size_t(tokens) * JOINT), left_(size_t(tokens) * INNER), right_(size_t(tokens) * INNER),
        narrow_left_(size_t(tokens) * WIDTH), narrow_right_(size_t(tokens) * WIDTH) {
    for (int i = 0; i < LAYERS; i++) kept_.emplace_back(tokens);
    for (int i = 0; i < PARAMETERS; i++) gradients.emplace_back(size_of(i));
  }

  std::vector<Buffer<float>> gradients;
  Bf16* space() const { return weights_; }

  // The summed loss of what is to follow each of `pieces` [tokens] in windows of `window`; the gradients are those of
  // the mean over `of_all` tokens.
  double run(const float* const* values, const Words& words, const std::vector<Layer>& layers, const int64_t* pieces,
             const Answers& right, int window, int of_all) {
    const Ready ready;
    for (int i = PLACE; i < PARAMETERS; i++) memset(gradients[i], 0, size_of(i) * sizeof(float));
    for (int row = 0; row < tokens_; row++) {
      const float *word = values[EMBEDDING] + pieces[row] * WIDTH, *place = values[PLACE] + row % window * WIDTH;
      for (int i = 0; i < WIDTH; i += 16) {
        store(path_ + static_cast<long>(row) * WIDTH + i, _mm512_add_ps(load(word + i), load(place + i)));
      }
    }
    for (int i = 0; i < LAYERS; i++) forward(layers[i], kept_[i], window);
    last_.forward(path_, values[LAST_NORM], values[LAST_NORM + 1], 0, tokens_);
    memset(total_, 0, static_cast<size_t>(tokens_) * WIDTH * sizeof(float));
    double loss = 0;
    for (int row = 0; row < tokens_; row += SCORED_AT_ONCE) {
      loss += score(values, words, right.from(row), row, 1.f / of_all);
    }
    for (int i = LAYERS - 1; i >= 0; i--) backward(layers[i], kept_[i], i, window);
    for (int row = 0; row < tokens_; row++) {
      float *word = gradients[EMBEDDING] + pieces[row] * WIDTH, *place = gradients[PLACE] + row % window * WIDTH;
      for (int i = 0; i < WIDTH; i += 16) {
        const Floats change = load(total_ + static_cast<long>(row) * WIDTH + i);
        add_to(word + i, change);
        add_to(place + i, change);
      }
    }
    return loss;
  }

 private:
  // Where the tile that holds row `row` and column `column` begins in one of `width` columns, and there that row.
  static long in_tiles(int row, int column, int width) {
    return (static_cast<long>(row / 16) * (width / 32) + column / 32) * TILE + row % 16 * 32;
  }
  // Where a block begins in tiles over all of this thread's tokens.
  long over_tokens(int row, int column) const {
    return (static_cast<long>(column / 16) * (tokens_ / 32) + row / 32) * TILE;
  }
  long next_over_tokens() const { return static_cast<long>(tokens_ / 32) * TILE; }

  void add_to_path(const Left& left, const Weight& weight, const float* bias, int in, int from) {
    multiply(left, weight.tiles, AT_ONCE, WIDTH, in / 32, [&](int row, int column, const float* line) {
      float* at = path_ + static_cast<long>(from + row) * WIDTH + column;
      add_to(at, _mm512_add_ps(_mm512_load_ps(line), load(bias + column)));
      add_to(at + 16, _mm512_add_ps(_mm512_load_ps(line + 16), load(bias + column + 16)));
    });
  }

  void forward(const Layer& layer, Kept& kept, int window) {
    const float* const* values = layer.values;
    for (int from = 0; from < tokens_; from += AT_ONCE) {
      kept.before_attention.forward(path_, values[NORM_1], values[NORM_1_BIAS], from, AT_ONCE);
      const Left left = as_rows(kept.before_attention.given, WIDTH).from(from);
      multiply(left, layer.attend.tiles, AT_ONCE, JOINT, WIDTH / 32, [&](int row, int column, const float* line) {
        const float* bias = values[ATTEND_BIAS] + column;
        store<Soon::no>(kept.joint + static_cast<long>(from + row) * JOINT + column,
                        _mm512_add_ps(_mm512_load_ps(line), load(bias)),
                        _mm512_add_ps(_mm512_load_ps(line + 16), load(bias + 16)));
      });
    }
    for (int row = 0; row < tokens_; row += window) {
      for (int head = 0; head < HEADS; head++) {
        attend(head_, kept.head(row, head), window, kept.attended + static_cast<long>(row) * WIDTH + head * HEAD, WIDTH,
               kept.sums + static_cast<long>(row) * HEADS + head, HEADS);
      }
    }
    for (int from = 0; from < tokens_; from += AT_ONCE) {
      add_to_path(as_rows(kept.attended, WIDTH).from(from), layer.join, values[JOIN_BIAS], WIDTH, from);
      kept.before_inner.forward(path_, values[NORM_2], values[NORM_2_BIAS], from, AT_ONCE);
      const Left left = as_rows(kept.before_inner.given, WIDTH).from(from);
      multiply(left, layer.widen.tiles, AT_ONCE, INNER, WIDTH / 32, [&](int row, int column, const float* line) {
        const float* bias = values[WIDEN_BIAS] + column;
        const Floats first = _mm512_add_ps(_mm512_load_ps(line), load(bias));
        const Floats second = _mm512_add_ps(_mm512_load_ps(line + 16), load(bias + 16));
        store<Soon::no>(kept.widened + in_tiles(from + row, column, INNER), first, second);
        store<Soon::yes>(block_ + in_tiles(row, column, INNER),
                         _mm512_mul_ps(first, gelu_sigmoid(first, _mm512_mul_ps(first, first))),
                         _mm512_mul_ps(second, gelu_sigmoid(second, _mm512_mul_ps(second, second))));
      });
      add_to_path(as_tiles(block_, INNER / 32), layer.narrow, values[NARROW_BIAS], INNER, from);
    }
  }

  // The loss of `SCORED_AT_ONCE` rows from `from` on, summed; their gradients through the last norm, and the words'.
  // exp(scores) is kept as it is: its sums are divided by where that is least work. Where a row's largest score is
  // beyond what exp_of tells apart the loss is no number.
  double score(const float* const* values, const Words& words, const Answers& right, int from, float share) {
    const Bf16* rows = last_.given + static_cast<long>(from) * WIDTH;
    constexpr int row_tiles = SCORED_AT_ONCE / 32, word_tiles = WORDS / 32, part = 64;
    std::fill(totals_.begin(), totals_.end(), zeros());
    std::fill(largest_.begin(), largest_.end(), all(-INFINITY));
    const auto of_line = [&](int row, int column, float* line) {
      largest_[row] = _mm512_max_ps(largest_[row], _mm512_max_ps(_mm512_load_ps(line), _mm512_load_ps(line + 16)));
      const Floats first = exp_of(_mm512_load_ps(line)), second = exp_of(_mm512_load_ps(line + 16));
      totals_[row] = _mm512_add_ps(totals_[row], _mm512_add_ps(first, second));
      _mm512_store_ps(line, first);
      _mm512_store_ps(line + 16, second);
      store<Soon::no>(weights_ + in_tiles(row, column, WORDS), first, second);
    };
    const auto of_block = [&](int row, int column, const float* block) {
      Bf16* at = transposed_weights_ + (static_cast<long>(column / 16) * row_tiles + row / 32) * TILE;
      transposed_block<Soon::no>(block, at, row_tiles * TILE);
    };
    multiply(as_rows(rows, WIDTH), words.scoring, SCORED_AT_ONCE, WORDS, WIDTH / 32, of_line, of_block);
    double loss = 0;
    float parts[SCORED_AT_ONCE];
    for (int row = 0; row < SCORED_AT_ONCE; row++) {
      const float total = _mm512_reduce_add_ps(totals_[row]);
      parts[row] = share / total;
      for (int i = 0; i < WIDTH; i += 16) {
        store(scaled_ + row * WIDTH + i, _mm512_mul_ps(load(rows + row * WIDTH + i), all(parts[row])));
      }
      loss += std::abs(_mm512_reduce_max_ps(largest_[row])) < MOST_SCORE ? std::log(static_cast<double>(total)) : NAN;
    }
    memset(of_rows_, 0, SCORED_AT_ONCE * WIDTH * sizeof(float));
    for (int k = 0; k < word_tiles; k += part) {
      for (int row = 0; row < SCORED_AT_ONCE; row += BLOCK) {
        for (int column = 0; column < WIDTH; column += BLOCK) {
          sum_products(of_rows_ + row * WIDTH + column, WIDTH, true,
                       as_tiles(weights_ + k * TILE, word_tiles).from(row),
                       words.over_words + (column / 16 * word_tiles + k) * TILE, word_tiles * TILE, part);
        }
      }
    }
    float* of_words = gradients[EMBEDDING];
    tiles_over_rows<Soon::yes>(scaled_, WIDTH, SCORED_AT_ONCE, WIDTH, narrow_right_);
    for (int word = 0; word < WORDS; word += BLOCK) {
      for (int column = 0; column < WIDTH; column += BLOCK) {
        sum_products(of_words + word * WIDTH + column, WIDTH, from > 0,
                     as_tiles(transposed_weights_, row_tiles).from(word),
                     narrow_right_ + column / 16 * row_tiles * TILE, row_tiles * TILE, row_tiles);
      }
    }
    for (int row = 0; row < SCORED_AT_ONCE; row++) {
      float* of_row = of_rows_ + row * WIDTH;
      for (int i = 0; i < WIDTH; i += 16) store(of_row + i, _mm512_mul_ps(all(parts[row]), load(of_row + i)));
      const Answers answers = right.from(row);
      for (int k = 0; k < answers.each; k++) {
        if (answers.shares[k] == 0) continue;
        const Bf16* word = words.rows + answers.words[k] * WIDTH;
        float* of_word = of_words + answers.words[k] * WIDTH;
        const Floats part = all(share * answers.shares[k]);
        Floats score = zeros();
        for (int i = 0; i < WIDTH; i += 16) {
          const Floats value = load(rows + row * WIDTH + i), there = load(word + i);
          score = _mm512_fmadd_ps(value, there, score);
          store(of_word + i, _mm512_fnmadd_ps(part, value, load(of_word + i)));
          store(of_row + i, _mm512_fnmadd_ps(part, there, load(of_row + i)));
        }
        loss -= answers.shares[k] * _mm512_reduce_add_ps(score);
      }
    }
    last_.backward(of_rows_, values[LAST_NORM], gradients[LAST_NORM], gradients[LAST_NORM + 1], total_, rounded_, from,
                   SCORED_AT_ONCE);
    return loss;
  }

  // A product with a matrix's transpose, through the layer norm before it, into the path's gradients.
  void through_norm(const Left& left, const Weight& weight, int out, const Norm& norm, const float* of_norm,
                    float* of_weight, float* of_bias, int from) {
    multiply(left, weight.transposed, AT_ONCE, WIDTH, out / 32, [&](int row, int column, const float* line) {
      store(changes_ + row * WIDTH + column, _mm512_load_ps(line));
      store(changes_ + row * WIDTH + column + 16, _mm512_load_ps(line + 16));
    });
    norm.backward(changes_, of_norm, of_weight, of_bias, total_, rounded_, from, AT_ONCE);
  }

  void backward(const Layer& layer, Kept& kept, int which, int window) {
    const float* const* values = layer.values;
    Buffer<float>* to = gradients.data() + FIRST_LAYER + OF_A_LAYER * which;
    tiles_over_rows<Soon::no>(rounded_, WIDTH, tokens_, WIDTH, narrow_right_, to[NARROW_BIAS]);
    for (int from = 0; from < tokens_; from += AT_ONCE) {
      const Left left = as_rows(rounded_, WIDTH).from(from);
      alignas(64) float active[BLOCK_SIZE];
      const auto of_line = [&](int row, int column, float* line) {
        through_gelu(kept.widened + in_tiles(from + row, column, INNER), line, active + row % BLOCK * BLOCK);
        store<Soon::yes>(block_ + in_tiles(row, column, INNER), _mm512_load_ps(line), _mm512_load_ps(line + 16));
      };
      const auto of_block = [&](int row, int column, const float* block) {
        transposed_block<Soon::no>(active, left_ + over_tokens(from + row, column), next_over_tokens());
        block_over_rows(block, all(1.f), right_ + over_tokens(from + row, column), next_over_tokens(),
                        to[WIDEN_BIAS] + column);
      };
      multiply(left, layer.narrow.transposed, AT_ONCE, INNER, WIDTH / 32, of_line, of_block);
      through_norm(as_tiles(block_, INNER / 32), layer.widen, INNER, kept.before_inner, values[NORM_2], to[NORM_2],
                   to[NORM_2_BIAS], from);
    }
    weight_gradient(left_, INNER, narrow_right_, WIDTH, tokens_, to[NARROW]);
    transposed_tiles(kept.before_inner.given, WIDTH, tokens_, WIDTH, narrow_left_);
    weight_gradient(narrow_left_, WIDTH, right_, INNER, tokens_, to[WIDEN]);

    transposed_tiles(kept.attended, WIDTH, tokens_, WIDTH, narrow_left_);
    tiles_over_rows<Soon::no>(rounded_, WIDTH, tokens_, WIDTH, narrow_right_, to[JOIN_BIAS]);
    weight_gradient(narrow_left_, WIDTH, narrow_right_, WIDTH, tokens_, to[JOIN]);
    for (int from = 0; from < tokens_; from += AT_ONCE) {
      const Left left = as_rows(rounded_, WIDTH).from(from);
      multiply(left, layer.join.transposed, AT_ONCE, WIDTH, WIDTH / 32, [&](int row, int column, const float* line) {
        store<Soon::no>(of_attended_ + static_cast<long>(from + row) * WIDTH + column, _mm512_load_ps(line),
                        _mm512_load_ps(line + 16));
      });
    }
    for (int from = 0; from < tokens_; from += window) {
      for (int head = 0; head < HEADS; head++) {
        const long at = static_cast<long>(from) * WIDTH + head * HEAD;
        attend_backward(head_, kept.head(from, head), window, kept.attended + at, of_attended_ + at, WIDTH,
                        kept.sums + static_cast<long>(from) * HEADS + head, HEADS,
                        [&](int part, int row, int column, const float* block, Floats factor) {
                          const int there = part * WIDTH + head * HEAD + column;
                          for (int i = 0; i < BLOCK; i++) {
                            store<Soon::no>(of_joint_ + static_cast<long>(from + row + i) * JOINT + there,
                                            _mm512_mul_ps(factor, _mm512_load_ps(block + i * BLOCK)),
                                            _mm512_mul_ps(factor, _mm512_load_ps(block + i * BLOCK + 16)));
                          }
                          block_over_rows(block, factor, right_ + over_tokens(from + row, there), next_over_tokens(),
                                          to[ATTEND_BIAS] + there);
                        });
      }
    }
    transposed_tiles(kept.before_attention.given, WIDTH, tokens_, WIDTH, narrow_left_);
    weight_gradient(narrow_left_, WIDTH, right_, JOINT, tokens_, to[ATTEND]);
    for (int from = 0; from < tokens_; from += AT_ONCE) {
      through_norm(as_rows(of_joint_, JOINT).from(from), layer.attend, JOINT, kept.before_attention, values[NORM_1],
                   to[NORM_1], to[NORM_1_BIAS], from);
    }
  }

  // 32 gradients of GELU's outputs become those of its inputs, which are `before`; `active` are the outputs.
  static void through_gelu(const Bf16* before, float* line, float* active) {
    for (int half = 0; half < BLOCK; half += 16) {
      const Floats x = load(before + half), square = _mm512_mul_ps(x, x), sigmoid = gelu_sigmoid(x, square);
      const Floats output = _mm512_mul_ps(x, sigmoid);
      const Floats inside = _mm512_mul_ps(all(1.5957691216f), _mm512_fmadd_ps(square, all(0.134145f), all(1.f)));
      const Floats slope = _mm512_mul_ps(_mm512_mul_ps(output, _mm512_sub_ps(all(1.f), sigmoid)), inside);
      _mm512_store_ps(active + half, output);
      _mm512_store_ps(line + half, _mm512_mul_ps(_mm512_load_ps(line + half), _mm512_add_ps(sigmoid, slope)));
    }
  }

  const int tokens_;
  Buffer<float> path_, total_;  // past the layers [tokens, WIDTH], and its gradients
  Buffer<Bf16> rounded_;        // those gradients in bfloat16
  std::vector<Kept> kept_;
  Norm last_;
  HeadSpace head_;
  Buffer<Bf16> of_attended_, of_joint_;
  Buffer<Bf16> left_, right_, narrow_left_, narrow_right_;  // tiles over all tokens
  Buffer<Bf16> block_{AT_ONCE * INNER};
  Buffer<float> changes_{AT_ONCE * WIDTH}, of_rows_{SCORED_AT_ONCE * WIDTH};
  Buffer<Bf16> scaled_{SCORED_AT_ONCE * WIDTH};
  Buffer<Bf16> weights_{size_t{SCORED_AT_ONCE} * WORDS}, transposed_weights_{size_t{SCORED_AT_ONCE} * WORDS};
  std::vector<Floats> totals_ = std::vector<Floats>(SCORED_AT_ONCE), largest_ = totals_;
};

class Network {
 public:
  Network(int tokens, int threads) : tokens_(tokens / threads), layers_(LAYERS) {
    for (int i = 0; i < threads; i++) workers_.push_back(std::make_unique<Worker>(tokens_));
  }
  // The mean loss; `gradients` are overwritten.
  double run(const float* const* values, float* const* gradients, const int64_t* pieces, const Answers& right,
             int window) {
    const int threads = static_cast<int>(workers_.size());
    in_threads(threads, [&](int thread) {
      if (thread == threads - 1) words_.read(values[EMBEDDING]);
      for (int i = thread; i < LAYERS; i += threads) {
        layers_[i].read(values + FIRST_LAYER + OF_A_LAYER * i, workers_[thread]->space());
      }
    });
    std::vector<double> losses(threads);
    in_threads(threads, [&](int thread) {
      const long from = static_cast<long>(thread) * tokens_;
      losses[thread] = workers_[thread]->run(values, words_, layers_, pieces + from, right.from(from), window,
                                             tokens_ * threads);
    });
    in_threads(threads, [&](int thread) {
      for (int which = 0; which < PARAMETERS; which++) {
        const int lines = size_of(which) / 16;
        for (int i = lines * thread / threads * 16; i < lines * (thread + 1) / threads * 16; i += 16) {
          Floats sum = load(workers_[0]->gradients[which] + i);
          for (int other = 1; other < threads; other++) {
            sum = _mm512_add_ps(sum, load(workers_[other]->gradients[which] + i));
          }
          store(gradients[which] + i, sum);
        }
      }
    });
    double loss = 0;
    for (const double each : losses) loss += each;
    return loss / (static_cast<double>(tokens_) * threads);
  }

 private:
  const int tokens_;
  Words words_;
  std::vector<Layer> layers_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

extern "C" {
Network* network_new(int tokens, int threads) { return new Network(tokens, threads); }
void network_delete(Network* network) { delete network; }
double network_run(Network* network, const float* const* values, float* const* gradients, const int64_t* pieces,
                   const int64_t* words, const float* shares, int each, int window) {
  return network->run(values, gradients, pieces, Answers{words, shares, each}, window);
}
}
