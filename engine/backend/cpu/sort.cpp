#include "engine/backend/cpu/sort.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "engine/backend/cpu/pool.h"

namespace treadle {
namespace {

template <class K, class I>
struct Entry {
  K key;
  I at;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key < b.key || (a.key == b.key && a.at < b.at);
  }
};

// Least significant byte first; bytes that all keys share cost one pass of counting.
template <class K, class I>
void radix_sort(std::vector<Entry<K, I>>& entries, std::vector<Entry<K, I>>& spare) {
  constexpr std::size_t kBytes = sizeof(K);
  std::array<std::array<std::size_t, 256>, kBytes> count{};
  for (const auto& e : entries) {
    for (std::size_t b = 0; b < kBytes; ++b) ++count[b][static_cast<std::uint8_t>(e.key >> 8 * b)];
  }
  spare.resize(entries.size());
  for (std::size_t b = 0; b < kBytes; ++b) {
    const auto digit = [&](K key) { return static_cast<std::uint8_t>(key >> 8 * b); };
    if (count[b][digit(entries[0].key)] == entries.size()) continue;
    std::size_t start = 0;
    for (std::size_t& c : count[b]) start += std::exchange(c, start);
    for (const auto& e : entries) spare[count[b][digit(e.key)]++] = e;
    entries.swap(spare);
  }
}

template <class K, class I>
void sort_entries(std::vector<Entry<K, I>>& entries, std::vector<Entry<K, I>>& spare) {
  constexpr std::size_t kRadixPays = 512;
  if (entries.size() < kRadixPays) {
    std::sort(entries.begin(), entries.end());
  } else {
    radix_sort(entries, spare);
  }
}

// Where selecting a few of n pays over sorting, or partitioning, all of them.
bool are_few(std::int64_t some, std::int64_t n) { return some < n / 4; }

// The first `top` (at least one) entries of a line in its order, themselves not in order. What
// could be one of them is collected, and cut back to `top` when there is twice as much.
template <class T, class I>
void select_first(const T* x, std::int64_t n, bool descending, std::size_t top,
                  std::vector<Entry<KeyType<T>, I>>& chosen) {
  using K = KeyType<T>;
  const std::size_t room = 2 * top + 64;
  const auto cut = [&] {
    std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(top - 1),
                     chosen.end());
    chosen.resize(top);
  };
  chosen.clear();
  chosen.reserve(room);
  std::int64_t i = 0;
  for (; i < n && chosen.size() < room; ++i) {
    const K key = sort_key(x[i]);
    chosen.push_back({descending ? static_cast<K>(~key) : key, static_cast<I>(i)});
  }
  cut();
  K limit = chosen[top - 1].key;
  for (; i < n; ++i) {
    const K key = descending ? static_cast<K>(~sort_key(x[i])) : sort_key(x[i]);
    if (key >= limit) continue;  // of equals the earlier is chosen
    chosen.push_back({key, static_cast<I>(i)});
    if (chosen.size() < room) continue;
    cut();
    limit = chosen[top - 1].key;
  }
  cut();
}

// body(line, chosen) for the first `top` of every line.
template <class T, class I, class Body>
void for_first(const T* x, std::int64_t lines, std::int64_t n, bool descending, std::int64_t top,
               const Body& body) {
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / 8 / std::max<std::int64_t>(1, n));
  parallel_for(0, lines, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Entry<KeyType<T>, I>> chosen;
    for (std::int64_t l = begin; l < end; ++l) {
      select_first(x + l * n, n, descending, static_cast<std::size_t>(top), chosen);
      body(l, chosen);
    }
  });
}

// fn(line, entries, spare) for every line, with the keys of its elements.
template <class T, class I, class Fn>
void for_lines(const T* x, std::int64_t lines, std::int64_t n, bool descending, const Fn& fn) {
  using K = KeyType<T>;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / 8 / std::max<std::int64_t>(1, n));
  parallel_for(0, lines, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Entry<K, I>> entries(static_cast<std::size_t>(n)), spare;
    for (std::int64_t l = begin; l < end; ++l) {
      for (std::int64_t i = 0; i < n; ++i) {
        const K key = sort_key(x[l * n + i]);
        entries[static_cast<std::size_t>(i)] = {descending ? static_cast<K>(~key) : key,
                                                static_cast<I>(i)};
      }
      fn(l, entries, spare);
    }
  });
}

// body(x, zero of the index type): 32-bit positions wherever they suffice.
template <class Body>
void with_types(DType dtype, const char* op, const char* data, std::int64_t n, const Body& body) {
  visit(dtype, op, [&](auto zero) {
    const auto* x = reinterpret_cast<const decltype(zero)*>(data);
    if (n <= std::numeric_limits<std::uint32_t>::max()) {
      body(x, std::uint32_t{});
    } else {
      body(x, std::int64_t{});
    }
  });
}

}  // namespace

void sort_lines(DType dtype, const char* data, std::int64_t lines, std::int64_t n, bool descending,
                std::int64_t top, std::int64_t* order) {
  with_types(dtype, "sort", data, n, [&]<class T, class I>(const T* x, I) {
    const auto write = [&](std::int64_t l, const auto& entries) {
      for (std::int64_t i = 0; i < top; ++i) {
        order[l * top + i] = static_cast<std::int64_t>(entries[static_cast<std::size_t>(i)].at);
      }
    };
    if (top > 0 && are_few(top, n)) {
      return for_first<T, I>(x, lines, n, descending, top, [&](std::int64_t l, auto& chosen) {
        std::sort(chosen.begin(), chosen.end());
        write(l, chosen);
      });
    }
    for_lines<T, I>(x, lines, n, descending, [&](std::int64_t l, auto& entries, auto& spare) {
      sort_entries(entries, spare);
      write(l, entries);
    });
  });
}

void select_lines(DType dtype, const char* data, std::int64_t lines, std::int64_t n,
                  const std::int64_t* rank, std::int64_t* position) {
  const bool first = lines > 0 && std::all_of(rank, rank + lines, [&](std::int64_t r) {
                       return r == rank[0] && are_few(r + 1, n);
                     });
  with_types(dtype, "kthvalue", data, n, [&]<class T, class I>(const T* x, I) {
    if (first) {
      return for_first<T, I>(x, lines, n, false, rank[0] + 1, [&](std::int64_t l, auto& chosen) {
        position[l] = static_cast<std::int64_t>(std::max_element(chosen.begin(), chosen.end())->at);
      });
    }
    for_lines<T, I>(x, lines, n, false, [&](std::int64_t l, auto& entries, auto&) {
      const auto nth = entries.begin() + rank[l];
      std::nth_element(entries.begin(), nth, entries.end());
      position[l] = static_cast<std::int64_t>(nth->at);
    });
  });
}

void mode_lines(DType dtype, const char* data, std::int64_t lines, std::int64_t n,
                std::int64_t* position) {
  with_types(dtype, "mode", data, n, [&]<class T, class I>(const T* x, I) {
    for_lines<T, I>(x, lines, n, false, [&](std::int64_t l, auto& entries, auto& spare) {
      sort_entries(entries, spare);
      std::size_t best = 0, run = 0;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::int64_t at = l * n + static_cast<std::int64_t>(entries[i].at);
        // A NaN equals nothing, itself included.
        const bool same = i > 0 && entries[i].key == entries[i - 1].key && x[at] == x[at];
        run = same ? run + 1 : 1;
        const bool last = i + 1 == entries.size() || entries[i + 1].key != entries[i].key;
        if (run > best && (last || x[at] != x[at])) {
          best = run;
          position[l] = static_cast<std::int64_t>(entries[i].at);
        }
      }
    });
  });
}

}  // namespace treadle
