/* Reads the binary samples of docs/tracking.md from a UDP port, answers each with the load, and measures itself.

       dynid export model.json --to c --filter load --rate 1000 --prefix arm --out arm_load.h
       cc -std=c11 -O2 -o udp_load udp_load.c -lm
       ./udp_load 5005 60000          listens on this machine for 60 000 samples

   Every answer is one line of JSON to the address that the sample came from. At the end, the median and the longest
   step are printed. Memory is fixed: nothing is allocated. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "arm_load.h"

enum { MAX_TIMED = 1000000, HAS_DQ = 1, HAS_TAU = 2 };

typedef struct {
    char magic[4];
    uint16_t n_dof;
    uint16_t fields;
    uint64_t number;
    double t;
    double values[3 * ARM_N_DOF];
} message;

static arm_load_filter filter;
static float steps[MAX_TIMED];

static double now(void)
{
    struct timespec stamp;
    clock_gettime(CLOCK_MONOTONIC, &stamp);
    return (double)stamp.tv_sec + 1e-9 * (double)stamp.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const long wanted = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    const int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5005;
    const int link = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in here;
    long count = 0, refused = 0;
    memset(&here, 0, sizeof here);
    here.sin_family = AF_INET;
    here.sin_port = htons((uint16_t)port);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (link < 0 || bind(link, (const struct sockaddr *)&here, sizeof here) != 0) {
        perror("udp_load");
        return 1;
    }
    arm_load_reset(&filter);
    while (wanted == 0 || count < wanted) {
        message in;
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        arm_load_output out;
        char answer[160];
        double before = 0.0;
        const ssize_t got = recvfrom(link, &in, sizeof in, 0, (struct sockaddr *)&from, &size);
        const double *q = in.values, *dq = in.values + ARM_N_DOF, *tau = in.values + 2 * ARM_N_DOF;
        int length = 0;
        if (got != (ssize_t)sizeof in || memcmp(in.magic, "DYN1", 4) != 0 || in.n_dof != ARM_N_DOF
            || in.fields != (HAS_DQ | HAS_TAU)) {
            refused += 1;
            continue;
        }
        before = now();
        arm_load_step(&filter, in.t, q, dq, tau, &out);
        steps[count % MAX_TIMED] = (float)(now() - before);
        count += 1;
        length = snprintf(answer, sizeof answer, "{\"t\": %.6f, \"mass\": %.6f, \"std\": %.6f, \"event\": %d}\n", in.t,
                          out.mass, out.mass_std, out.event[2] != 0 ? out.event[2] : out.event[0]);
        (void)sendto(link, answer, (size_t)length, 0, (const struct sockaddr *)&from, size);
    }
    {
        const size_t timed = count < MAX_TIMED ? (size_t)count : (size_t)MAX_TIMED;
        qsort(steps, timed, sizeof steps[0], compare);
        printf("%ld samples, %ld refused, step %.2f us median, %.2f us at worst\n", count, refused,
               1e6 * (double)steps[timed / 2], 1e6 * (double)steps[timed - 1]);
    }
    close(link);
    return 0;
}
