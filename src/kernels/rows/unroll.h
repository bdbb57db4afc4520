/* Loops with constant bounds that must disappear: UNROLL before `for`. */
#ifndef EG__UNROLL_H
#define EG__UNROLL_H

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
