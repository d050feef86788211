// The two compilations of a loop (see docs/architecture.md, "One layer, one file, every device").
//
// A file with device loops is compiled twice. The C++ compiler instantiates them for Cpu and
// compiles the layer's class; nvcc (-x cu --extended-lambda, __CUDACC__ defined) instantiates them
// for Cuda and nothing else.
//
// CREMA_LOOP_BODY marks the loop's lambda, CREMA_FUNCTOR a function that it calls: nothing under
// g++, __device__ under nvcc. Never `__host__ __device__`: nvcc wraps such a lambda so that the CPU
// loop runs 14 times slower.
#pragma once

namespace crema {

struct Cpu {};
struct Cuda {};

}  // namespace crema

#ifdef __CUDACC__
#define CREMA_LOOP_BODY __device__
#define CREMA_FUNCTOR __device__
#else
#define CREMA_LOOP_BODY
#define CREMA_FUNCTOR
#endif
