/* Rotation of pairs on the CPU: one Python function of integers, on raw pointers, so that one build serves every PyTorch.
 *
 *     (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin)
 *
 * rows.h holds the arithmetic of one row, built for several instruction sets; the best one that the machine has is chosen when the
 * module loads. Rows are shared out among the threads of the OpenMP library that PyTorch has brought into the process.
 */

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BLOCK 64
#define LANES 8
#define TO_NEAREST 0 /* ties to even, whatever the thread's rounding mode */
#define AXES 3
#define LITTLE_ENDIAN_WORDS (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define SAME(value) (value)

/* Bytes between two rows, or two groups of rows: of the vectors, of the result, of cos and sin. */
typedef struct {
    int64_t from, to, table;
} Steps;

/* Groups of rows at equal steps: one call for many of them, since a call costs as much as a short row. */
typedef struct {
    const char *from, *cos, *sin;
    char *to;
    int64_t groups, count;
    Steps group, row;
} Rows;

typedef void (*Row)(Rows rows, int64_t n);

static inline float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint32_t as_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline float from_bfloat16(uint16_t value) { return as_float((uint32_t)value << 16); }

/* The bits of a float32 whose upper half is the nearest bfloat16, ties to even; a NaN stays one. */
static inline uint32_t rounded_bits(float value) {
    uint32_t bits = as_bits(value);
    uint32_t nearest = bits + 0x7fff + ((bits >> 16) & 1);
    return value != value ? (bits | 0x400000) : nearest;
}

static inline uint16_t to_bfloat16(float value) { return (uint16_t)(rounded_bits(value) >> 16); }
static inline float bfloat16_rounded(float value) { return as_float(rounded_bits(value) & 0xffff0000u); }

static inline Rows one_row(float *block, const float *cos, const float *sin) {
    return (Rows){(const char *)block, (const char *)cos, (const char *)sin, (char *)block, 1, 1, {0, 0, 0}, {0, 0, 0}};
}

#define LEVEL(name) baseline_##name
#define TARGET
#include "rows.h"

#if defined(__x86_64__)
#define LEVEL(name) avx2_##name
#define TARGET __attribute__((target("avx2,f16c")))
#define F16C
#include "rows.h"

#define LEVEL(name) avx512_##name
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c,prefer-vector-width=512")))
#define F16C
#include "rows.h"

/* Compilers that know the set, and its name where they ask the machine. */
#if (defined(__clang__) && __clang_major__ >= 14) || (!defined(__clang__) && __GNUC__ >= 11)
#define KNOWS_AVX512_BF16
#define LEVEL(name) avx512_bf16_##name
#define TARGET __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c,prefer-vector-width=512")))
#define F16C
#define ROUNDS_BFLOAT16
#include "rows.h"
#endif
#endif

enum { BASELINE, AVX2, AVX512, AVX512_BF16, LEVELS };
static const char *const level_names[LEVELS] = {"baseline", "avx2", "avx512", "avx512_bf16"};
static int level = BASELINE;

static int has_level(int asked) {
    if (asked == BASELINE) return 1;
#if defined(__x86_64__)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    if (asked == AVX2) return avx2;
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq");
    if (asked == AVX512) return avx512;
#ifdef KNOWS_AVX512_BF16
    return avx512 && __builtin_cpu_supports("avx512bf16");
#else
    return 0;
#endif
#else
    return 0;
#endif
}

static Row row_of(int dtype, int interleaved, int rounds) {
#if defined(__x86_64__)
#ifdef KNOWS_AVX512_BF16
    if (level == AVX512_BF16) return avx512_bf16_rows[dtype][interleaved][rounds];
#endif
    if (level == AVX512) return avx512_rows[dtype][interleaved][rounds];
    if (level == AVX2) return avx2_rows[dtype][interleaved][rounds];
#endif
    return baseline_rows[dtype][interleaved][rounds];
}

/* One tensor to turn: rows along the axes batch, sequence and heads, outermost first; strides in bytes. */
typedef struct {
    const char *from;
    char *to;
    int64_t size[AXES], from_stride[AXES], to_stride[AXES], table_stride[AXES];
    int64_t rows, width;
} Vectors;

typedef struct {
    Vectors vectors[2];
    int count;
    const char *cos, *sin;
    int64_t item, table_item, start, pairs, parts;
    Row row;
} Job;

static void turn_rows(const Job *job, const Vectors *v, int64_t begin, int64_t end) {
    if (begin >= end) return;
    int64_t place[AXES], left = begin;
    for (int axis = AXES - 1; axis >= 0; axis--) {
        place[axis] = left % v->size[axis];
        left /= v->size[axis];
    }
    const char *from = v->from, *cos = job->cos, *sin = job->sin;
    char *to = v->to;
    for (int axis = 0; axis < AXES; axis++) {
        from += place[axis] * v->from_stride[axis];
        to += place[axis] * v->to_stride[axis];
        cos += place[axis] * v->table_stride[axis];
        sin += place[axis] * v->table_stride[axis];
    }
    const int64_t each = job->pairs / job->parts, head = job->start * job->item, last = AXES - 1, outer = AXES - 2;
    const Steps group = {v->from_stride[outer], v->to_stride[outer], v->table_stride[outer]};
    const Steps row = {v->from_stride[last], v->to_stride[last], v->table_stride[last]};
    const int64_t stop = head + 2 * job->pairs * job->item, tail = v->width * job->item - stop;
    while (begin < end) {
        int64_t count = v->size[last] - place[last];
        int64_t groups = 1;
        if (count > end - begin) count = end - begin;
        if (count == v->size[last]) {
            groups = (end - begin) / count;
            if (groups > v->size[outer] - place[outer]) groups = v->size[outer] - place[outer];
        }
        Rows rows = {from + head, cos, sin, to + head, groups, count, group, row};
        for (int64_t part = 0; part < job->parts; part++) {
            job->row(rows, each);
            rows.from += 2 * each * job->item;
            rows.to += 2 * each * job->item;
            rows.cos += each * job->table_item;
            rows.sin += each * job->table_item;
        }
        if (from != to && (head || tail))
            for (int64_t i = 0; i < groups; i++)
                for (int64_t j = 0; j < count; j++) {
                    const char *read = from + i * group.from + j * row.from;
                    char *written = to + i * group.to + j * row.to;
                    if (head) memcpy(written, read, (size_t)head);
                    if (tail) memcpy(written + stop, read + stop, (size_t)tail);
                }
        begin += groups * count;
        place[outer] += groups - 1; /* on the last row now: what follows steps to the next one and carries over */
        place[last] += count - 1;
        from += (groups - 1) * group.from + (count - 1) * row.from;
        to += (groups - 1) * group.to + (count - 1) * row.to;
        cos += (groups - 1) * group.table + (count - 1) * row.table;
        sin += (groups - 1) * group.table + (count - 1) * row.table;
        for (int axis = last; axis >= 0; axis--) {
            int64_t back = 0;
            if (++place[axis] == v->size[axis]) {
                back = v->size[axis];
                place[axis] = 0;
            }
            from += v->from_stride[axis] - back * v->from_stride[axis];
            to += v->to_stride[axis] - back * v->to_stride[axis];
            cos += v->table_stride[axis] - back * v->table_stride[axis];
            sin += v->table_stride[axis] - back * v->table_stride[axis];
            if (!back) break;
        }
    }
}

/* The OpenMP library of the process, if PyTorch has brought one that speaks GCC's interface; else one thread does all. */
static void (*parallel)(void (*)(void *), void *, unsigned, unsigned);
static int (*max_threads)(void), (*thread_number)(void), (*team_size)(void);

static void find_threads(void) {
#if defined(__unix__) || defined(__APPLE__)
    *(void **)&parallel = dlsym(RTLD_DEFAULT, "GOMP_parallel");
    *(void **)&max_threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    *(void **)&thread_number = dlsym(RTLD_DEFAULT, "omp_get_thread_num");
    *(void **)&team_size = dlsym(RTLD_DEFAULT, "omp_get_num_threads");
#endif
}

static int has_threads(void) { return parallel && max_threads && thread_number && team_size; }

static void turn_share(void *given) {
    const Job *job = given;
    int64_t me = thread_number(), all = team_size();
    for (int i = 0; i < job->count; i++) {
        const Vectors *v = &job->vectors[i];
        int64_t share = (v->rows + all - 1) / all, begin = me * share;
        turn_rows(job, v, begin, begin + share < v->rows ? begin + share : v->rows);
    }
}

#define ENTRIES_A_THREAD 32768

static void turn_all(Job *job) {
    int64_t entries = 0;
    for (int i = 0; i < job->count; i++) entries += job->vectors[i].rows * job->vectors[i].width;
    int64_t threads = entries / ENTRIES_A_THREAD;
    if (threads > 1 && has_threads()) {
        int most = max_threads();
        if (threads > most) threads = most;
        PyThreadState *state = PyEval_SaveThread();
        if (threads > 1)
            parallel(turn_share, job, (unsigned)threads, 0);
        else
            for (int i = 0; i < job->count; i++) turn_rows(job, &job->vectors[i], 0, job->vectors[i].rows);
        PyEval_RestoreThread(state);
        return;
    }
    for (int i = 0; i < job->count; i++) turn_rows(job, &job->vectors[i], 0, job->vectors[i].rows);
}

/* --- what Python gives ------------------------------------------------------------------------------------------------------- */

#define MOST_AXES 4
#define LARGEST ((int64_t)1 << 48) /* no size or stride in memory is larger; below it, times an entry's bytes, nothing overflows */

/* Reads a tuple of up to four whole numbers; more than four where it has more, or one is too large; -1 with a Python error. */
static int numbers(PyObject *given, int64_t *out) {
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "rotate: needed a tuple of sizes or strides");
        return -1;
    }
    Py_ssize_t count = PyTuple_Size(given);
    if (count > MOST_AXES) return (int)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(given, i));
        if (out[i] == -1 && PyErr_Occurred()) return -1;
        if (out[i] > LARGEST || out[i] < -LARGEST) return MOST_AXES + 1; /* a form that is not served */
    }
    return (int)count;
}

/* Reads strides; None says that entries lie in order. */
static int steps(PyObject *given, const int64_t *size, int axes, int64_t *out) {
    if (given != Py_None) return numbers(given, out);
    int64_t step = 1;
    for (int i = axes <= MOST_AXES ? axes - 1 : -1; i >= 0; i--) {
        out[i] = step;
        step = (int64_t)((uint64_t)step * (uint64_t)(size[i] > 1 ? size[i] : 1)); /* may wrap, must not be undefined */
    }
    return axes;
}

typedef struct {
    int64_t batch, length, pairs, batch_stride, length_stride;
} Table;

/* cos and sin [T, n] or [B, T, n]; 1: read, 0: not a form that is served, -1: Python error. */
static int read_table(PyObject *const *args, Job *job, Table *table) {
    int64_t size[MOST_AXES], stride[MOST_AXES], other_size[MOST_AXES], other_stride[MOST_AXES];
    job->cos = PyLong_AsVoidPtr(args[0]);
    job->sin = PyLong_AsVoidPtr(args[1]);
    if (PyErr_Occurred()) return -1;
    int axes = numbers(args[2], size), others = numbers(args[4], other_size);
    if (axes < 0 || others < 0) return -1;
    int strides = steps(args[3], size, axes, stride), other_strides = steps(args[5], other_size, others, other_stride);
    if (strides < 0 || other_strides < 0) return -1;
    if ((axes != 2 && axes != 3) || strides != axes || others != axes || other_strides != axes) return 0;
    for (int i = 0; i < axes; i++)
        if (size[i] < 0 || size[i] != other_size[i] || (size[i] != 1 && stride[i] != other_stride[i])) return 0;
    if (size[axes - 1] > 1 && stride[axes - 1] != 1) return 0;
    *table = (Table){axes == 3 ? size[0] : 1, size[axes - 2], size[axes - 1], axes == 3 ? stride[0] : 0, stride[axes - 2]};
    if (table->batch == 1) table->batch_stride = 0;
    return 1;
}

/* Whether every entry of a tensor has memory of its own and none lies between: then PyTorch's empty_like has the same strides. */
static int is_dense(const int64_t *size, const int64_t *stride, int axes) {
    int64_t reached = 1, entries = 1;
    for (int i = 0; i < axes; i++)
        if (__builtin_mul_overflow(entries, size[i], &entries)) return 0;
    for (int found = 0, sized = 0; found < axes; found++, sized = 0) {
        for (int i = 0; i < axes; i++)
            if (size[i] != 1 && stride[i] == reached) {
                if (__builtin_mul_overflow(reached, size[i], &reached)) return 0;
                sized = 1;
                break;
            }
        if (!sized) break;
    }
    return entries == 0 || reached == entries;
}

/* x and out [B, H, T, D], [B, T, H, D] or the same without a batch; None for the strides of out: it is empty_like(x), and x is refused
 * unless it is dense. Answers as read_table. */
static int read_vectors(PyObject *const *args, int heads_first, Job *job, const Table *table, Vectors *v) {
    int64_t size[MOST_AXES], stride[MOST_AXES], written[MOST_AXES];
    v->from = PyLong_AsVoidPtr(args[0]);
    v->to = PyLong_AsVoidPtr(args[1]);
    if (PyErr_Occurred()) return -1;
    int axes = numbers(args[2], size);
    if (axes < 0) return -1;
    int strides = steps(args[3], size, axes, stride), writtens = strides;
    if (strides < 0) return -1;
    if (args[4] == Py_None) {
        if (axes != strides || axes > MOST_AXES || !is_dense(size, stride, axes)) return 0;
        memcpy(written, stride, sizeof written);
    } else {
        writtens = numbers(args[4], written);
        if (writtens < 0) return -1;
    }
    if ((axes != 3 && axes != 4) || strides != axes || writtens != axes) return 0;
    int last = axes - 1, sequence = heads_first ? axes - 2 : axes - 3, heads = heads_first ? axes - 3 : axes - 2;
    if (size[last] > 1 && (stride[last] != 1 || written[last] != 1)) return 0;
    int from[AXES] = {axes == 4 ? 0 : -1, sequence, heads};
    int64_t along[AXES] = {table->batch_stride, table->length_stride, 0};
    v->rows = 1;
    v->width = size[last];
    for (int i = 0; i < AXES; i++) {
        int axis = from[i];
        v->size[i] = axis < 0 ? 1 : size[axis];
        v->from_stride[i] = axis < 0 ? 0 : stride[axis] * job->item;
        v->to_stride[i] = axis < 0 ? 0 : written[axis] * job->item;
        v->table_stride[i] = along[i] * job->table_item;
        if (v->size[i] < 0 || __builtin_mul_overflow(v->rows, v->size[i], &v->rows)) return 0;
    }
    int64_t entries;
    if (__builtin_mul_overflow(v->rows, v->width, &entries)) return 0;
    if (table->batch != 1 && table->batch != v->size[0]) return 0;
    if (v->rows && v->width && !(v->from && v->to && (job->cos || !table->pairs) && (job->sin || !table->pairs))) return 0;
    if (table->length != v->size[1] || job->start + 2 * table->pairs > v->width) return 0;
    /* Walk memory in the order in which it lies. */
    for (int i = 1; i < AXES; i++)
        for (int j = i; j > 0 && v->from_stride[j] > v->from_stride[j - 1]; j--) {
#define SWAP(list) do { int64_t kept = v->list[j]; v->list[j] = v->list[j - 1]; v->list[j - 1] = kept; } while (0)
            SWAP(size);
            SWAP(from_stride);
            SWAP(to_stride);
            SWAP(table_stride);
        }
    return 1;
}

#define SETTINGS 6
#define TABLE_ARGUMENTS 6
#define VECTOR_ARGUMENTS 5

static PyObject *rotate(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Py_ssize_t vectors = count - SETTINGS - TABLE_ARGUMENTS;
    if (vectors != VECTOR_ARGUMENTS && vectors != 2 * VECTOR_ARGUMENTS) {
        PyErr_Format(PyExc_TypeError, "rotate: needed 17 or 22 arguments, got %zd", count);
        return NULL;
    }
    long long setting[SETTINGS];
    for (int i = 0; i < SETTINGS; i++) {
        setting[i] = PyLong_AsLongLong(args[i]);
        if (setting[i] == -1 && PyErr_Occurred()) return NULL;
    }
    static const int sizes[] = {4, 2, 2, 8};
    long long dtype = setting[0], flags = setting[1];
    Job job = {.count = (int)(vectors / VECTOR_ARGUMENTS), .parts = setting[3], .start = setting[4]};
    if (dtype < 0 || dtype > 3 || flags < 0 || flags > 3 || job.parts < 1 || job.start < 0 || job.start > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "rotate: needed dtype 0..3, flags 0..3, parts >= 1 and 0 <= start < 2^31");
        return NULL;
    }
    job.item = sizes[dtype];
    job.table_item = dtype == 3 ? 8 : 4;
    job.row = row_of((int)dtype, flags & 1, flags >> 1);
    Table table;
    int read = job.row ? read_table(args + SETTINGS, &job, &table) : 0;
    if (read == 1 && table.pairs % job.parts) read = 0;
    if (read == 1) job.pairs = table.pairs;
    for (int i = 0; i < job.count && read == 1; i++) {
        PyObject *const *own = args + SETTINGS + TABLE_ARGUMENTS + i * VECTOR_ARGUMENTS;
        read = read_vectors(own, setting[2] == -2, &job, &table, &job.vectors[i]);
        if (read == 1 && setting[5] && setting[5] != job.vectors[i].width) read = 0;
    }
    if (read < 0) return NULL;
    if (read == 1) turn_all(&job);
    return PyBool_FromLong(read);
}

static PyObject *levels(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    PyObject *found = PyList_New(0);
    for (int i = 0; found && i < LEVELS; i++) {
        PyObject *name = has_level(i) ? PyUnicode_FromString(level_names[i]) : NULL;
        if (name) PyList_Append(found, name);
        Py_XDECREF(name);
    }
    return found;
}

static PyObject *chosen(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return Py_BuildValue("(si)", level_names[level], has_threads());
}

static PyObject *choose(PyObject *module, PyObject *name) {
    (void)module;
    for (int i = 0; i < LEVELS; i++)
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, level_names[i]) == 0 && has_level(i)) {
            level = i;
            Py_RETURN_NONE;
        }
    PyErr_Format(PyExc_ValueError, "choose: needed one of levels(), got %R", name);
    return NULL;
}

static PyMethodDef methods[] = {
    {"rotate", (PyCFunction)(void (*)(void))rotate, METH_FASTCALL,
     "rotate(dtype, flags, sequence_dim, parts, start, width or 0, cos, sin, sizes, strides, sizes of sin, strides of sin, then for each of one or two tensors: "
     "from, to, sizes, strides, strides of to) -> whether it was done; False: a form that is not served. None for strides: entries lie in "
     "order; for those of to: it is empty_like"},
    {"levels", levels, METH_NOARGS, "The instruction sets that this machine has."},
    {"chosen", chosen, METH_NOARGS, "The instruction set in use, and whether threads were found."},
    {"choose", choose, METH_O, "Use another of levels()."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_rotate", "Rotation of pairs on raw pointers.", -1, methods,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__rotate(void) {
    find_threads();
    for (int i = 0; i < LEVELS; i++)
        if (has_level(i)) level = i;
    return PyModule_Create(&definition);
}
