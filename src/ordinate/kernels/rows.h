/* Rows of a rotation, for one instruction set: rotate.c includes this file once a set, with LEVEL(name) and TARGET defined.
 *
 * Every sum is made of two products that were rounded by themselves; the build forbids fused multiply-add, so that all sets, and
 * PyTorch's own elementwise operators, give the same bits. Both sums are differences (the sign goes to a factor, which is exact): GCC
 * joins the products of an alternating sum and difference in spite of the ban. Rows are turned in place as well: each step reads a pair before it
 * writes it, which is what `omp simd` promises the compiler.
 */

#define HALF_LOOP(begin, LOAD, STORE, ROUND)                           \
    _Pragma("omp simd") for (int64_t i = begin; i < n; i++) {          \
        REAL first = LOAD(x[i]), second = LOAD(x[i + n]);              \
        REAL a = ROUND(first * c[i]), b = ROUND(second * s[i]);        \
        REAL d = ROUND(second * c[i]), e = ROUND(-first * s[i]);       \
        out[i] = STORE(a - b);                                         \
        out[i + n] = STORE(d - e);                                     \
    }

#define INTERLEAVED_LOOP(LOAD, STORE, ROUND)                           \
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {              \
        REAL first = LOAD(x[2 * i]), second = LOAD(x[2 * i + 1]);      \
        REAL a = ROUND(first * c[i]), b = ROUND(second * s[i]);        \
        REAL d = ROUND(second * c[i]), e = ROUND(-first * s[i]);       \
        out[2 * i] = STORE(a - b);                                     \
        out[2 * i + 1] = STORE(d - e);                                 \
    }

#ifdef ROUNDS_BFLOAT16
/* The machine's own rounding to bfloat16, 32 entries at a time. It takes float32's subnormals for zeros: where there is a zero, it is
 * asked whether it was one, and from the first such on a row is left to the plain loop. */
#define SUBNORMAL 0x20
TARGET static inline __m512 LEVEL(loaded)(const uint16_t *x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x)), 16));
}

TARGET static inline int LEVEL(has_zeros)(__m512i rounded) {
    return _mm512_testn_epi16_mask(rounded, _mm512_set1_epi16(0x7fff)) != 0;
}

/* These turn as many pairs of a row as they may and say how many. */
TARGET static int64_t LEVEL(native_half)(const uint16_t *x, uint16_t *out, const float *c, const float *s, int64_t n) {
    int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m512 new_first[2], new_second[2];
        for (int j = 0; j < 2; j++) {
            int64_t at = i + 16 * j;
            __m512 first = LEVEL(loaded)(x + at), second = LEVEL(loaded)(x + at + n);
            __m512 cos = _mm512_loadu_ps(c + at), sin = _mm512_loadu_ps(s + at);
            new_first[j] = _mm512_sub_ps(_mm512_mul_ps(first, cos), _mm512_mul_ps(second, sin));
            new_second[j] = _mm512_add_ps(_mm512_mul_ps(second, cos), _mm512_mul_ps(first, sin));
        }
        __m512i rounded_first = (__m512i)_mm512_cvtne2ps_pbh(new_first[1], new_first[0]);
        __m512i rounded_second = (__m512i)_mm512_cvtne2ps_pbh(new_second[1], new_second[0]);
        if (LEVEL(has_zeros)(rounded_first) | LEVEL(has_zeros)(rounded_second)) {
            __mmask16 tiny = _mm512_fpclass_ps_mask(new_first[0], SUBNORMAL) | _mm512_fpclass_ps_mask(new_first[1], SUBNORMAL) |
                             _mm512_fpclass_ps_mask(new_second[0], SUBNORMAL) | _mm512_fpclass_ps_mask(new_second[1], SUBNORMAL);
            if (tiny) break;
        }
        _mm512_storeu_si512(out + i, rounded_first);
        _mm512_storeu_si512(out + i + n, rounded_second);
    }
    return i;
}

TARGET static int64_t LEVEL(native_interleaved)(const uint16_t *x, uint16_t *out, const float *c, const float *s, int64_t n) {
    /* Entry j of the result is entry j / 2 of the first or of the second of each pair, which lie 16 apart. */
    const __m512i order = _mm512_or_si512(_mm512_set1_epi32(16 << 16),
                                          _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                                             _mm512_set1_epi32(0x10001)));
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512i words = _mm512_loadu_si512(x + 2 * i);
        __m512 first = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
        __m512 second = _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32((int)0xffff0000)));
        __m512 cos = _mm512_loadu_ps(c + i), sin = _mm512_loadu_ps(s + i);
        __m512 new_first = _mm512_sub_ps(_mm512_mul_ps(first, cos), _mm512_mul_ps(second, sin));
        __m512 new_second = _mm512_add_ps(_mm512_mul_ps(second, cos), _mm512_mul_ps(first, sin));
        __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(new_second, new_first);
        if (LEVEL(has_zeros)(rounded)) {
            __mmask16 tiny = _mm512_fpclass_ps_mask(new_first, SUBNORMAL) | _mm512_fpclass_ps_mask(new_second, SUBNORMAL);
            if (tiny) break;
        }
        _mm512_storeu_si512(out + 2 * i, _mm512_permutexvar_epi16(order, rounded));
    }
    return i;
}
#endif

/* Both halves of a 32-bit word are one pair of bfloat16: no lane has to change places. */
#define WORD_LOOP(begin, ROUND)                                        \
    _Pragma("omp simd") for (int64_t i = begin; i < n; i++) {          \
        uint32_t pair;                                                 \
        memcpy(&pair, x + 2 * i, 4);                                   \
        float first = as_float(pair << 16), second = as_float(pair & 0xffff0000u); \
        float a = ROUND(first * c[i]), b = ROUND(second * s[i]);       \
        float d = ROUND(second * c[i]), e = ROUND(-first * s[i]);      \
        pair = rounded_bits(a - b) >> 16 | (rounded_bits(d - e) & 0xffff0000u); \
        memcpy(out + 2 * i, &pair, 4);                                 \
    }

#define EACH_ROW(TYPE, ...)                                            \
    for (; rows.groups > 0; rows.groups--) {                           \
        const char *from = rows.from, *cos = rows.cos, *sin = rows.sin; \
        char *to = rows.to;                                            \
        for (int64_t left = rows.count; left > 0; left--) {            \
            const TYPE *x = (const TYPE *)from;                        \
            TYPE *out = (TYPE *)to;                                    \
            const REAL *c = (const REAL *)cos, *s = (const REAL *)sin; \
            __VA_ARGS__                                                \
            from += rows.row.from;                                     \
            to += rows.row.to;                                         \
            cos += rows.row.table;                                     \
            sin += rows.row.table;                                     \
        }                                                              \
        rows.from += rows.group.from;                                  \
        rows.to += rows.group.to;                                      \
        rows.cos += rows.group.table;                                  \
        rows.sin += rows.group.table;                                  \
    }

#define ROW(NAME, TYPE, ...) \
    TARGET static void LEVEL(NAME)(Rows rows, int64_t n) { EACH_ROW(TYPE, __VA_ARGS__) }

#define REAL float
ROW(half_float32, float, HALF_LOOP(0, SAME, SAME, SAME))
ROW(interleaved_float32, float, INTERLEAVED_LOOP(SAME, SAME, SAME))
#ifdef ROUNDS_BFLOAT16
ROW(half_bfloat16, uint16_t, {
    int64_t done = LEVEL(native_half)(x, out, c, s, n);
    HALF_LOOP(done, from_bfloat16, to_bfloat16, SAME)
})
ROW(interleaved_bfloat16, uint16_t, {
    int64_t done = LEVEL(native_interleaved)(x, out, c, s, n);
    WORD_LOOP(done, SAME)
})
#undef SUBNORMAL
#else
ROW(half_bfloat16, uint16_t, HALF_LOOP(0, from_bfloat16, to_bfloat16, SAME))
#endif
ROW(half_bfloat16_rounding, uint16_t, HALF_LOOP(0, from_bfloat16, to_bfloat16, bfloat16_rounded))
#if LITTLE_ENDIAN_WORDS
#ifndef ROUNDS_BFLOAT16
ROW(interleaved_bfloat16, uint16_t, WORD_LOOP(0, SAME))
#endif
ROW(interleaved_bfloat16_rounding, uint16_t, WORD_LOOP(0, bfloat16_rounded))
#else
ROW(interleaved_bfloat16, uint16_t, INTERLEAVED_LOOP(from_bfloat16, to_bfloat16, SAME))
ROW(interleaved_bfloat16_rounding, uint16_t, INTERLEAVED_LOOP(from_bfloat16, to_bfloat16, bfloat16_rounded))
#endif
#undef REAL
#define REAL double
ROW(half_float64, double, HALF_LOOP(0, SAME, SAME, SAME))
ROW(interleaved_float64, double, INTERLEAVED_LOOP(SAME, SAME, SAME))
#undef REAL

#ifdef F16C
/* float16 goes through float32 in blocks that stay in the first cache. */
TARGET static void LEVEL(widened)(const uint16_t *x, float *out, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
    for (; i < n; i++) out[i] = _cvtsh_ss(x[i]);
}

TARGET static void LEVEL(narrowed)(const float *x, uint16_t *out, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), TO_NEAREST));
    for (; i < n; i++) out[i] = _cvtss_sh(x[i], TO_NEAREST);
}

#define REAL float
#define HALF_BLOCKS                                                    \
    for (int64_t i = 0; i < n; i += BLOCK) {                           \
        int64_t m = n - i < BLOCK ? n - i : BLOCK;                     \
        float block[2 * BLOCK];                                        \
        LEVEL(widened)(x + i, block, m);                               \
        LEVEL(widened)(x + i + n, block + m, m);                       \
        LEVEL(half_float32)(one_row(block, c + i, s + i), m);          \
        LEVEL(narrowed)(block, out + i, m);                            \
        LEVEL(narrowed)(block + m, out + i + n, m);                    \
    }
#define INTERLEAVED_BLOCKS                                             \
    for (int64_t i = 0; i < n; i += BLOCK) {                           \
        int64_t m = n - i < BLOCK ? n - i : BLOCK;                     \
        float block[2 * BLOCK];                                        \
        LEVEL(widened)(x + 2 * i, block, 2 * m);                       \
        LEVEL(interleaved_float32)(one_row(block, c + i, s + i), m);   \
        LEVEL(narrowed)(block, out + 2 * i, 2 * m);                    \
    }
ROW(half_float16, uint16_t, HALF_BLOCKS)
ROW(interleaved_float16, uint16_t, INTERLEAVED_BLOCKS)
#undef HALF_BLOCKS
#undef INTERLEAVED_BLOCKS
#undef REAL
#define FLOAT16_ROWS {{LEVEL(half_float16), NULL}, {LEVEL(interleaved_float16), NULL}}
#else
#define FLOAT16_ROWS {{NULL, NULL}, {NULL, NULL}}
#endif

/* [dtype][layout][whether products are rounded]; what has no row, the formula serves. */
static const Row LEVEL(rows)[4][2][2] = {
    {{LEVEL(half_float32), LEVEL(half_float32)}, {LEVEL(interleaved_float32), LEVEL(interleaved_float32)}},
    {{LEVEL(half_bfloat16), LEVEL(half_bfloat16_rounding)}, {LEVEL(interleaved_bfloat16), LEVEL(interleaved_bfloat16_rounding)}},
    FLOAT16_ROWS,
    {{LEVEL(half_float64), LEVEL(half_float64)}, {LEVEL(interleaved_float64), LEVEL(interleaved_float64)}},
};

#undef HALF_LOOP
#undef INTERLEAVED_LOOP
#undef WORD_LOOP
#undef ROW
#undef EACH_ROW
#undef LEVEL
#undef TARGET
#undef F16C
#undef ROUNDS_BFLOAT16
#undef FLOAT16_ROWS
