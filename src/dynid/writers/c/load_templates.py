"""What is the same in every header of a load filter; @NAME@ is filled in."""

__all__ = ["FILTER", "HEAD", "MAIN", "STEP"]

HEAD = """/* Load filter and contact watch of @ROBOT@, @N@ joints, at @RATE@ samples a second.
   Written by dynid @VERSION@.

   @P@_load_filter f;              fixed memory, no allocation, nothing beyond the C library's math.h
   @P@_load_reset(&f);
   @P@_load_step(&f, t, q, dq, tau, &out);   once a sample; SI units at the joints

   The same code as dynid.tracking runs, written out for this robot. The load is @HALF@ samples late, because
   accelerations need samples from both sides; contacts are called at once. C11 and C++17. */
#ifndef @U@_LOAD_FILTER_H
#define @U@_LOAD_FILTER_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define @U@_RESTRICT __restrict
#else
#define @U@_RESTRICT restrict
#endif
#define @U@_N_DOF @N@
enum {
    @U@_NO_EVENT, @U@_INITIAL_LOAD, @U@_PICK, @U@_PLACE, @U@_CHANGE, @U@_CONTACT, @U@_CONTACT_OVER
};

static inline double @P@_mind(double a, double b) { return b < a ? b : a; }
static inline double @P@_maxd(double a, double b) { return b > a ? b : a; }
static inline int @P@_mini(int a, int b) { return b < a ? b : a; }
static inline int @P@_maxi(int a, int b) { return b > a ? b : a; }
static inline double @P@_sign(double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x); }"""

FILTER = """typedef struct {
    @CONTACT@ contact;
    @STATE@ state;
    @MEMORY@ memory;
    @DECISION@ decision;
    /* The window that gives velocity and acceleration, written at two places so that it is always one piece. */
    double t[2 * @WIDTH@];
    double q[2 * @WIDTH@ * @PADDED@];
    double dq[2 * @WIDTH@ * @PADDED@];
    double tau[@WIDTH@ * @N@];
    double even[3];
    double G[160];
    double W[3 * @WIDTH@];
    double out[3 * @PADDED@];
    double rows[@ROWS@];
    double last;
    int place;
    int count;
} @P@_load_filter;

typedef struct {
    double load[10];          /* m, mc (3), Ixx Ixy Iyy Ixz Iyz Izz about the flange: always a physical body, SI */
    double mass;              /* kg */
    double mass_std;          /* kg */
    double com[3];            /* m; zero while the mass is below three standard deviations */
    double external[@N@];     /* external joint torque, N m or N */
    int event[4];             /* what happened at this sample, @U@_NO_EVENT where nothing did */
    bool in_contact;
} @P@_load_output;"""

STEP = """static inline void @P@_note(const @P@_load_filter *f, @P@_load_output *out, int first)
{
    out->event[first] = f->decision.events[0];
    out->event[first + 1] = f->decision.events[1];
}

/* Where the completed sample goes into the load filter: half a window late. */
static inline void @P@_complete(@P@_load_filter *f, double t, const double *q, const double *dq, const double *tau,
                                @P@_load_output *out)
{
    /* A sample that lacks a velocity is left out, so that none is missing in the window. */
    static const int lost[@PADDED@] = {0};
    int i = 0, j = 0, middle = 0;
    bool good = isfinite(t) && t > f->last;
    for (j = 0; j < @N@; j++) {
        good = good && isfinite(q[j]) && isfinite(dq[j]);
    }
    if (!good) {
        return;
    }
    if (f->count > 0 && t - f->last > @GAP@) {
        f->count = 0;
        f->place = 0;
        f->even[1] = 0.0;
    }
    f->last = t;
    for (i = f->place; i < 2 * @WIDTH@; i += @WIDTH@) {
        f->t[i] = t;
        for (j = 0; j < @N@; j++) {
            f->q[i * @PADDED@ + j] = q[j];
            f->dq[i * @PADDED@ + j] = dq[j];
        }
    }
    for (j = 0; j < @N@; j++) {
        f->tau[f->place * @N@ + j] = tau[j];
    }
    f->place = (f->place + 1) % @WIDTH@;
    f->count = f->count < @WIDTH@ ? f->count + 1 : @WIDTH@;
    if (f->count < @WIDTH@) {
        return;
    }
    middle = (f->place + @HALF@) % @WIDTH@;
    @SMOOTH@(f->t + f->place, f->q + f->place * @PADDED@, f->dq + f->place * @PADDED@, lost, @ORDER@, @HALF@, f->even,
             f->G, f->W, f->out);
    for (j = 0; j < @N@; j++) {
        f->rows[j] = f->tau[middle * @N@ + j];
    }
    for (j = @N@; j < @ROWS@; j++) {
        f->rows[j] = NAN;
    }
    @WATCH@(&@P@_the_constants, &f->state, &f->memory, &f->decision, &@P@_the_rules, f->t[f->place + @HALF@],
            f->out, f->out + @PADDED@, f->out + 2 * @PADDED@, f->rows);
    @P@_note(f, out, 2);
}

static inline void @P@_load_step(@P@_load_filter *f, double t, const double q[@N@], const double dq[@N@],
                                 const double tau[@N@], @P@_load_output *out)
{
    int a = 0, best = @NOTHING@;
    double score[2] = {0.0, 0.0};
    for (a = 0; a < 4; a++) {
        out->event[a] = @U@_NO_EVENT;
    }
    for (a = 0; a < @N@; a++) {
        f->rows[a] = tau[a];
    }
    @HEAR@(&@P@_the_bands, &f->contact, &@P@_the_constants, &f->state, &f->memory, &f->decision, &@P@_the_rules, t,
           q, dq, f->rows);
    @P@_note(f, out, 0);
    @P@_complete(f, t, q, dq, tau, out);
    score[0] = f->state.likelihood[@NOTHING@] - f->decision.distance[@NOTHING@];
    score[1] = f->state.likelihood[@PICKED@] - f->decision.distance[@PICKED@];
    /* Before the first load is known, the likelier of the two. */
    if (fabs(f->decision.numbers[@PHASE@] - @UNKNOWN@) < 0.5 && score[1] > score[0]) {
        best = @PICKED@;
    }
    for (a = 0; a < 10; a++) {
        out->load[a] = f->state.pi[best * 10 + a];
    }
    out->mass = out->load[0];
    out->mass_std = @STD@(&f->state, best);
    for (a = 0; a < 3; a++) {
        out->com[a] = out->mass > 3.0 * out->mass_std ? out->load[1 + a] / out->mass : 0.0;
    }
    for (a = 0; a < @N@; a++) {
        out->external[a] = f->contact.r[a];
    }
    out->in_contact = f->decision.numbers[@CALLED@] > 0.5 && f->decision.numbers[@CALLED@] < 1.5;
}

#endif"""

MAIN = """#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>
#include "filter.h"

static @P@_load_filter filter;

static double now(void)
{
    struct timespec stamp;
    clock_gettime(CLOCK_MONOTONIC, &stamp);
    return (double)stamp.tv_sec + 1e-9 * (double)stamp.tv_nsec;
}

int main(void)
{
    double sample[1 + 3 * @N@], answer[7], before;
    @P@_load_output out;
    int a;
    @P@_load_reset(&filter);
    while (fread(sample, sizeof sample, 1, stdin) == 1) {
        before = now();
        @P@_load_step(&filter, sample[0], sample + 1, sample + 1 + @N@, sample + 1 + 2 * @N@, &out);
        answer[6] = now() - before;
        answer[0] = out.mass;
        answer[1] = out.mass_std;
        for (a = 0; a < 4; a++) {
            answer[2 + a] = (double)out.event[a];
        }
        fwrite(answer, sizeof answer, 1, stdout);
    }
    return 0;
}
"""
