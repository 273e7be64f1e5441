// Recurrent networks: one cell of each kind, and layers of them over sequences, padded or packed.
// To add a kind: a Kind with its number of gates, its step in `advance`, and rows.
#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

enum class Kind : std::uint8_t { tanh, relu, lstm, gru };

using States = std::vector<Tensor>;  // of one layer and direction: {h}, or {h, c} of an LSTM

struct Weights {
  Tensor ih, hh, b_ih, b_hh, hr;  // the biases and the projection may be undefined
};

// x: what the input contributes to the gates (ih x + b_ih).
States advance(Kind kind, const Tensor& x, const States& s, const Weights& w) {
  const Tensor h = linear(s[0], w.hh, w.b_hh);
  switch (kind) {
    case Kind::tanh:
      return {tanh(add(x, h))};
    case Kind::relu:
      return {relu(add(x, h))};
    case Kind::lstm: {
      const std::vector<Tensor> g = chunk(add(x, h), 4, -1);
      const Tensor c = add(mul(sigmoid(g[1]), s[1]), mul(sigmoid(g[0]), tanh(g[2])));
      const Tensor out = mul(sigmoid(g[3]), tanh(c));
      return {w.hr.defined() ? linear(out, w.hr) : out, c};
    }
    case Kind::gru: {
      const std::vector<Tensor> gx = chunk(x, 3, -1), gh = chunk(h, 3, -1);
      const Tensor reset = sigmoid(add(gx[0], gh[0])), update = sigmoid(add(gx[1], gh[1]));
      const Tensor fresh = tanh(add(gx[2], mul(reset, gh[2])));
      return {add(mul(sub(s[0], fresh), update), fresh)};
    }
  }
  return {};
}

std::int64_t gates(Kind kind) { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }

void check_weights(Kind kind, std::int64_t inputs, std::int64_t hidden, std::int64_t out,
                   const Weights& w) {
  const std::int64_t rows = gates(kind) * hidden;
  const auto need = [](const char* name, const Tensor& t, const Dims& shape) {
    if (t.defined() && t.shape() != shape) {
      fail(ErrorKind::runtime, std::string("Expected ") + name + " of size " + to_string(shape) +
                                   ", but got " + to_string(t.shape()));
    }
  };
  need("w_ih", w.ih, {rows, inputs});
  need("w_hh", w.hh, {rows, out});
  need("b_ih", w.b_ih, {rows});
  need("b_hh", w.b_hh, {rows});
  need("w_hr", w.hr, {out, hidden});
}

// --- sequences -----------------------------------------------------------------------------------

struct Network {
  Kind kind;
  bool has_biases;
  std::int64_t layers;
  double dropout;
  bool train, bidirectional;
};

// What a layer gives: an output for each time step, and its last states.
struct Run {
  std::vector<Tensor> steps;
  States last;
};

// x: a tensor for each time step, (N_t, gates); in packed sequences N_t decreases.
Run over_time(Kind kind, const std::vector<Tensor>& x, const States& initial, const Weights& w,
              bool reverse) {
  Run r;
  r.steps.resize(x.size());
  const auto rows = [](const States& s, std::int64_t from, std::int64_t to) {
    States part;
    for (const Tensor& t : s) part.push_back(slice(t, 0, from, to));
    return part;
  };
  const auto join = [](const States& a, const States& b) {
    States all;
    for (std::size_t i = 0; i < a.size(); ++i) all.push_back(cat({a[i], b[i]}, 0));
    return all;
  };
  States now = initial;
  std::vector<States> ended;  // of sequences that are over, the shortest first
  const auto steps = static_cast<std::int64_t>(x.size());
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto t = static_cast<std::size_t>(reverse ? steps - 1 - i : i);
    const std::int64_t n = x[t].size(0), before = i == 0 && reverse ? n : now[0].size(0);
    if (i == 0 && reverse) {
      now = rows(initial, 0, n);
    } else if (n < before) {
      ended.push_back(rows(now, n, before));
      now = rows(now, 0, n);
    } else if (n > before) {
      now = join(now, rows(initial, before, n));
    }
    now = advance(kind, x[t], now, w);
    r.steps[t] = now[0];
  }
  for (std::size_t i = ended.size(); i-- > 0;) now = join(now, ended[i]);
  r.last = now;
  return r;
}

// input (rows, features); sizes: rows of each time step. initial: (layers * directions, N, H) for
// each state. The result: (rows, directions * H) and the states.
std::pair<Tensor, States> run(const Network& net, const Tensor& input, const Dims& sizes,
                              const States& initial, const std::vector<Tensor>& params) {
  const std::int64_t directions = net.bidirectional ? 2 : 1;
  const bool lstm = net.kind == Kind::lstm;
  for (const Tensor& s : initial) {
    if (s.dim() != 3 || s.size(0) != net.layers * directions) {
      fail(ErrorKind::runtime, "Expected hidden states of size (" +
                                   std::to_string(net.layers * directions) + ", N, H), but got " +
                                   to_string(s.shape()));
    }
    if (s.size(1) != sizes[0]) {
      fail(ErrorKind::runtime, "Expected hidden states of batch size " + std::to_string(sizes[0]) +
                                   ", but got " + to_string(s.shape()));
    }
  }
  const std::int64_t out = initial[0].size(2), hidden = initial.back().size(2);
  const bool projected = lstm && out != hidden;
  const std::size_t each = (net.has_biases ? 4 : 2) + (projected ? 1 : 0);
  if (params.size() != each * static_cast<std::size_t>(net.layers * directions)) {
    fail(ErrorKind::runtime, "Expected " + std::to_string(each) + " parameters for each of " +
                                 std::to_string(net.layers * directions) +
                                 " layers and directions, but got " +
                                 std::to_string(params.size()) + " in all");
  }
  Tensor x = input;
  std::vector<States> last(initial.size());
  for (std::int64_t l = 0; l < net.layers; ++l) {
    std::vector<Tensor> sides;
    for (std::int64_t d = 0; d < directions; ++d) {
      const std::int64_t k = l * directions + d;
      const Tensor* p = params.data() + static_cast<std::size_t>(k) * each;
      Weights w{p[0], p[1], Tensor(), Tensor(), Tensor()};
      if (net.has_biases) w.b_ih = p[2], w.b_hh = p[3];
      if (projected) w.hr = p[each - 1];
      check_weights(net.kind, x.size(1), hidden, out, w);
      States start;
      for (const Tensor& s : initial) start.push_back(select(s, 0, k));
      const Run r = over_time(net.kind, split_with_sizes(linear(x, w.ih, w.b_ih), sizes, 0), start,
                              w, d == 1);
      sides.push_back(cat(r.steps, 0));
      for (std::size_t s = 0; s < last.size(); ++s) last[s].push_back(r.last[s]);
    }
    x = sides.size() == 1 ? sides[0] : cat(sides, 1);
    if (l + 1 < net.layers && net.train && net.dropout > 0) x = dropout(x, net.dropout, true);
  }
  States states;
  for (const States& s : last) states.push_back(stack(s, 0));
  return {x, states};
}

std::pair<Tensor, States> padded(const Network& net, const Tensor& input, const States& initial,
                                 const std::vector<Tensor>& params, bool batch_first) {
  if (input.dim() != 3) {
    fail(ErrorKind::runtime, "input must have 3 dimensions, got " + std::to_string(input.dim()));
  }
  const Tensor x = batch_first ? transpose(input, 0, 1) : input;
  const std::int64_t steps = x.size(0), batch = x.size(1);
  if (steps == 0) {
    fail(ErrorKind::runtime, "Expected sequence length to be larger than 0 in RNN");
  }
  auto [out, states] =
      run(net, reshape(x, {steps * batch, x.size(2)}), Dims(steps, batch), initial, params);
  out = reshape(out, {steps, batch, out.size(1)});
  return {batch_first ? transpose(out, 0, 1) : out, states};
}

std::pair<Tensor, States> packed(const Network& net, const Tensor& data, const Tensor& batch_sizes,
                                 const States& initial, const std::vector<Tensor>& params) {
  if (data.dim() != 2) {
    fail(ErrorKind::runtime,
         "data of a packed sequence must have 2 dimensions, got " + std::to_string(data.dim()));
  }
  if (batch_sizes.dim() != 1 || batch_sizes.dtype() != DType::int64) {
    fail(ErrorKind::runtime, "batch_sizes tensor should be 1-D and of int64");
  }
  const Tensor list = dense(batch_sizes);
  Dims sizes(std::span<const std::int64_t>(list.data_as<std::int64_t>(),
                                           static_cast<std::size_t>(list.numel())));
  std::int64_t total = 0, before = data.size(0);
  for (const std::int64_t n : sizes) {
    if (n <= 0 || n > before) {
      fail(ErrorKind::runtime, "batch_sizes must be positive and must not increase");
    }
    total += before = n;
  }
  if (sizes.empty() || total != data.size(0)) {
    fail(ErrorKind::runtime, "batch_sizes don't add up to the rows of data");
  }
  return run(net, data, sizes, initial, params);
}

Network network(Kind kind, bool has_biases, std::int64_t layers, double dropout, bool train,
                bool bidirectional) {
  if (layers < 1) {
    fail(ErrorKind::runtime, "num_layers must be at least 1, got " + std::to_string(layers));
  }
  return {kind, has_biases, layers, dropout, train, bidirectional};
}

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

template <Kind K>
Two rnn(const Tensor& input, const Tensor& hx, const std::vector<Tensor>& params, bool has_biases,
        std::int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  const auto [out, states] =
      padded(network(K, has_biases, num_layers, dropout, train, bidirectional), input, {hx}, params,
             batch_first);
  return {out, states[0]};
}
template <Kind K>
Two rnn_packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
               const std::vector<Tensor>& params, bool has_biases, std::int64_t num_layers,
               double dropout, bool train, bool bidirectional) {
  const auto [out, states] =
      packed(network(K, has_biases, num_layers, dropout, train, bidirectional), data, batch_sizes,
             {hx}, params);
  return {out, states[0]};
}
void check_pair(const std::vector<Tensor>& hx) {
  if (hx.size() != 2) fail(ErrorKind::runtime, "lstm expects two hidden states");
}
Three lstm(const Tensor& input, const std::vector<Tensor>& hx, const std::vector<Tensor>& params,
           bool has_biases, std::int64_t num_layers, double dropout, bool train, bool bidirectional,
           bool batch_first) {
  check_pair(hx);
  const auto [out, states] =
      padded(network(Kind::lstm, has_biases, num_layers, dropout, train, bidirectional), input, hx,
             params, batch_first);
  return {out, states[0], states[1]};
}
Three lstm_packed(const Tensor& data, const Tensor& batch_sizes, const std::vector<Tensor>& hx,
                  const std::vector<Tensor>& params, bool has_biases, std::int64_t num_layers,
                  double dropout, bool train, bool bidirectional) {
  check_pair(hx);
  const auto [out, states] =
      packed(network(Kind::lstm, has_biases, num_layers, dropout, train, bidirectional), data,
             batch_sizes, hx, params);
  return {out, states[0], states[1]};
}

// --- cells ---------------------------------------------------------------------------------------

States cell(Kind kind, const Tensor& input, const States& hx, const Weights& w) {
  if (input.dim() == 1) {
    States wide;
    for (const Tensor& h : hx) wide.push_back(unsqueeze(h, 0));
    States out = cell(kind, unsqueeze(input, 0), wide, w);
    for (Tensor& t : out) t = squeeze(t, Dims{0});
    return out;
  }
  for (const Tensor& h : hx) {
    if (input.dim() != 2 || h.dim() != 2 || h.size(0) != input.size(0)) {
      fail(ErrorKind::runtime, "Expected input (N, features) and hidden (N, H), but got " +
                                   to_string(input.shape()) + " and " + to_string(h.shape()));
    }
  }
  check_weights(kind, input.size(1), hx.back().size(1), hx[0].size(1), w);
  return advance(kind, linear(input, w.ih, w.b_ih), hx, w);
}
template <Kind K>
Tensor rnn_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  return cell(K, input, {hx}, {w_ih, w_hh, b_ih, b_hh, Tensor()})[0];
}
Two lstm_cell(const Tensor& input, const std::vector<Tensor>& hx, const Tensor& w_ih,
              const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  check_pair(hx);
  const States s = cell(Kind::lstm, input, hx, {w_ih, w_hh, b_ih, b_hh, Tensor()});
  return {s[0], s[1]};
}

// Arguments that stand for parts of strings: NOLINTBEGIN(bugprone-macro-parentheses)
#define TREADLE_RNN_INPUT                                                              \
  "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool " \
  "bidirectional, bool batch_first) -> "
#define TREADLE_RNN_DATA                                                               \
  "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool " \
  "bidirectional) -> "
#define TREADLE_RNN_CELL "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
#define TREADLE_RNN_ROWS(name, kind, doc)                                                         \
  native<rnn<kind>>(name ".input(Tensor input, Tensor hx, " TREADLE_RNN_INPUT "(Tensor, Tensor)", \
                    doc, kFunction),                                                              \
      native<rnn_packed<kind>>(                                                                   \
          name ".data(Tensor data, Tensor batch_sizes, Tensor hx, " TREADLE_RNN_DATA              \
               "(Tensor, Tensor)",                                                                \
          doc, kFunction),                                                                        \
      native<rnn_cell<kind>>(name "_cell(Tensor input, Tensor hx, " TREADLE_RNN_CELL "Tensor",    \
                             doc, kFunction)
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace

std::span<const OpDef> nn_rnn_ops() {
  static constexpr const char* kTanh = "h = tanh(w_ih x + b_ih + w_hh h + b_hh).";
  static constexpr const char* kRelu = "h = relu(w_ih x + b_ih + w_hh h + b_hh).";
  static constexpr const char* kGru =
      "r, z = sigmoid(...); n = tanh(w_in x + b_in + r (w_hn h + b_hn)); h = (1 - z) n + z h.";
  static constexpr const char* kLstm =
      "i, f, o = sigmoid(...); g = tanh(...); c = f c + i g; h = o tanh(c), projected if there are "
      "weights for it.";
  static constexpr OpDef rows[] = {
      TREADLE_RNN_ROWS("rnn_tanh", Kind::tanh, kTanh),
      TREADLE_RNN_ROWS("rnn_relu", Kind::relu, kRelu),
      TREADLE_RNN_ROWS("gru", Kind::gru, kGru),
      native<lstm>("lstm.input(Tensor input, Tensor[] hx, " TREADLE_RNN_INPUT
                   "(Tensor, Tensor, Tensor)",
                   kLstm, kFunction),
      native<lstm_packed>(
          "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, " TREADLE_RNN_DATA
          "(Tensor, Tensor, Tensor)",
          kLstm, kFunction),
      native<lstm_cell>("lstm_cell(Tensor input, Tensor[] hx, " TREADLE_RNN_CELL "(Tensor, Tensor)",
                        kLstm, kFunction),
  };
  return rows;
}

}  // namespace treadle
