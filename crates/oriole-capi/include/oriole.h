// SPDX-License-Identifier: Apache-2.0 OR MIT
// Oriole, an optimizer and performance analyzer for NVIDIA PTX. Made by cbindgen: change crates/oriole-capi/src/lib.rs.

#ifndef ORIOLE_H
#define ORIOLE_H

#include <stddef.h>
#include <stdint.h>

// How a call ended.
typedef enum OrioleStatus {
  // There is a result.
  ORIOLE_STATUS_FINE = 0,
  // The text or an argument is bad.
  ORIOLE_STATUS_BAD_INPUT = 2,
  // Oriole itself failed.
  ORIOLE_STATUS_BUG = 3,
} OrioleStatus;

// What a call gave. To be freed by `oriole_free`.
typedef struct OrioleResult OrioleResult;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of Oriole.
const char *oriole_version(void);

// Optimizes PTX at a level from 0 to 3; 2 is the usual one. `name` is what messages call it, and may be null. `ptx` has
// `length` bytes and need not end with a zero. The text of the result is PTX. Safe to call from several threads at once.
//
// # Safety
// `name` is null or a string that ends with a zero; `ptx` points to `length` bytes, or is null if that is 0.
struct OrioleResult *oriole_optimize(const char *name,
                                     const char *ptx,
                                     size_t length,
                                     int32_t level);

// Analyzes PTX. `block` is the shape of blocks, three numbers, or null for what each kernel requires, else 256 threads, or fewer if it allows no more. The text
// of the result is a JSON document, as that of `oriole analyze --json`. Safe to call from several threads at once.
//
// # Safety
// As `oriole_optimize`; `block` is null or points to three numbers.
struct OrioleResult *oriole_analyze(const char *name,
                                    const char *ptx,
                                    size_t length,
                                    const uint32_t *block);

// How the call ended.
//
// # Safety
// `result` comes from a function of this library and was not freed.
enum OrioleStatus oriole_status(const struct OrioleResult *result);

// The text that a call gave, which ends with a zero; empty if it failed. It lives as long as the result.
//
// # Safety
// As `oriole_status`.
const char *oriole_text(const struct OrioleResult *result);

// The bytes of the text, without the zero.
//
// # Safety
// As `oriole_status`.
size_t oriole_text_length(const struct OrioleResult *result);

// What is wrong, if something is: errors with their places, as the command prints them. It lives as long as the result.
//
// # Safety
// As `oriole_status`.
const char *oriole_message(const struct OrioleResult *result);

// Frees a result. Null is allowed.
//
// # Safety
// `result` is null, or comes from a function of this library and was not freed.
void oriole_free(struct OrioleResult *result);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ORIOLE_H */
