// SPDX-License-Identifier: Apache-2.0 OR MIT
// The few CUDA names the clang sources need, so that they compile without a toolkit.
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __noinline__ __attribute__((noinline))
#define TID ((int)__nvvm_read_ptx_sreg_tid_x())
#define TID_Y ((int)__nvvm_read_ptx_sreg_tid_y())
#define BLOCK ((int)__nvvm_read_ptx_sreg_ctaid_x())
#define BLOCK_Y ((int)__nvvm_read_ptx_sreg_ctaid_y())
#define THREADS ((int)__nvvm_read_ptx_sreg_ntid_x())
#define BLOCKS ((int)__nvvm_read_ptx_sreg_nctaid_x())
#define sync_block() __syncthreads()
