// The C++ contender: LLVM's DenseMap driven by the same batches as the Rust tables.
//
// Whole batches run on this side, so that no call between languages is timed per operation. The two allocation functions
// are the only part of LLVM's support library that DenseMap needs.

#include "llvm/ADT/DenseMap.h"
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace llvm {
void *allocate_buffer(size_t Size, size_t Alignment) {
  return ::operator new(Size, std::align_val_t(Alignment));
}
void deallocate_buffer(void *Ptr, size_t, size_t Alignment) {
  ::operator delete(Ptr, std::align_val_t(Alignment));
}
} // namespace llvm

namespace {
template <typename Stored> struct KeyOf;
template <> struct KeyOf<uint32_t> {
  using Key = unsigned;
  using Value = uint32_t;
  static Key make(uint32_t key) { return key; }
};
template <> struct KeyOf<uint64_t> {
  using Key = void *;
  using Value = uint64_t;
  static Key make(uint64_t key) { return reinterpret_cast<void *>(key); }
};

template <typename S> using Map = llvm::DenseMap<typename KeyOf<S>::Key, typename KeyOf<S>::Value>;

template <typename S> uint64_t find(const Map<S> &map, const S *keys, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    auto found = map.find(KeyOf<S>::make(keys[i]));
    if (found != map.end())
      sum += found->second;
  }
  return sum;
}

template <typename S> uint64_t chase(const Map<S> &map, S start, size_t count) {
  S key = start;
  for (size_t i = 0; i < count; ++i) {
    auto found = map.find(KeyOf<S>::make(key));
    if (found == map.end())
      std::abort();
    key = static_cast<S>(found->second);
  }
  return key;
}

template <typename S> void insert(Map<S> &map, const S *keys, const S *values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    map[KeyOf<S>::make(keys[i])] = values[i];
}

template <typename S> uint64_t erase(Map<S> &map, const S *keys, size_t count) {
  uint64_t erased = 0;
  for (size_t i = 0; i < count; ++i)
    erased += map.erase(KeyOf<S>::make(keys[i]));
  return erased;
}

template <typename S> uint64_t iterate(const Map<S> &map) {
  uint64_t sum = 0;
  for (auto &entry : map)
    sum += entry.second;
  return sum;
}

template <typename S>
uint64_t mix(const uint8_t *kinds, const S *keys, const uint32_t *lengths, size_t tables) {
  uint64_t sum = 0;
  for (size_t table = 0; table < tables; ++table) {
    Map<S> map;
    for (uint32_t i = 0; i < lengths[table]; ++i, ++kinds, ++keys) {
      auto key = KeyOf<S>::make(*keys);
      switch (*kinds) {
      case 0: {
        auto found = map.find(key);
        if (found != map.end())
          sum += found->second;
        break;
      }
      case 1:
        map[key] = *keys;
        break;
      default:
        sum += map.erase(key);
      }
    }
  }
  return sum;
}
template <typename S>
uint64_t replay(const uint8_t *kinds, const uint32_t *tables, const S *keys, size_t count, size_t table_count) {
  std::vector<Map<S>> maps(table_count);
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    auto &map = maps[tables[i]];
    auto key = KeyOf<S>::make(keys[i]);
    switch (kinds[i]) {
    case 0: {
      auto found = map.find(key);
      if (found != map.end())
        sum += found->second;
      break;
    }
    case 1:
      map[key] = keys[i];
      break;
    case 2:
      sum += map.erase(key);
      break;
    case 3:
      map.clear();
      break;
    case 5:
      map.reserve(map.size() + keys[i]);
      break;
    default:
      map = Map<S>();
    }
  }
  return sum;
}
} // namespace

#define EXPORT(S, N)                                                                                                   \
  extern "C" void *llvm_new_##N() { return new Map<S>(); }                                                             \
  extern "C" void llvm_free_##N(void *map) { delete static_cast<Map<S> *>(map); }                                      \
  extern "C" uint64_t llvm_find_##N(void *map, const S *keys, size_t count) {                                          \
    return find<S>(*static_cast<Map<S> *>(map), keys, count);                                                          \
  }                                                                                                                    \
  extern "C" uint64_t llvm_chase_##N(void *map, S start, size_t count) {                                               \
    return chase<S>(*static_cast<Map<S> *>(map), start, count);                                                        \
  }                                                                                                                    \
  extern "C" void llvm_insert_##N(void *map, const S *keys, const S *values, size_t count) {                           \
    insert<S>(*static_cast<Map<S> *>(map), keys, values, count);                                                       \
  }                                                                                                                    \
  extern "C" uint64_t llvm_erase_##N(void *map, const S *keys, size_t count) {                                         \
    return erase<S>(*static_cast<Map<S> *>(map), keys, count);                                                         \
  }                                                                                                                    \
  extern "C" uint64_t llvm_iterate_##N(void *map) { return iterate<S>(*static_cast<Map<S> *>(map)); }                  \
  extern "C" size_t llvm_bytes_##N(void *map) { return static_cast<Map<S> *>(map)->getMemorySize(); }                  \
  extern "C" uint64_t llvm_mix_##N(const uint8_t *kinds, const S *keys, const uint32_t *lengths, size_t tables) {      \
    return mix<S>(kinds, keys, lengths, tables);                                                                       \
  }                                                                                                                    \
  extern "C" uint64_t llvm_replay_##N(const uint8_t *kinds, const uint32_t *tables, const S *keys, size_t count,       \
                                      size_t table_count) {                                                            \
    return replay<S>(kinds, tables, keys, count, table_count);                                                         \
  }

EXPORT(uint32_t, u32)
EXPORT(uint64_t, u64)
