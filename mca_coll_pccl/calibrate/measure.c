/* From times to what one kind of way costs. */
#include <math.h>

#include "calibrate.h"

#define EMPTY_BYTES 1
#define BURST 16              /* messages from which the CPU time of one is told */
#define REPEATED_SECONDS 0.04 /* exchanges are repeated until they have taken this long */
#define MIN_TIMES 5
#define MAX_TIMES 200
#define LONG_SECONDS 0.03 /* sizes double until one exchange takes so long */
#define LARGEST_BYTES ((size_t)4 << 20)
#define STREAM_SECONDS 0.1
#define LARGE_STREAM 4
#define STEP_FACTOR 1.25 /* a handshake makes a message by so much longer than without */
#define STEP_LEAST                                                                                                     \
    0.4 /* ... and takes at least and at most so many empty messages: it is two                                        \
           of them and more */
#define STEP_MOST 8.0
#define STEP_RESOLUTION 64 /* bytes to which the limit of eager messages is found */

static double exchange(const struct calibrate_kind *kind, size_t bytes, double expected)
{
    double times = REPEATED_SECONDS / fmax(expected, 1e-9);
    int count = times < MIN_TIMES ? MIN_TIMES : times > MAX_TIMES ? MAX_TIMES : (int)times;
    struct calibrate_probe probe = {kind->pairs, kind->num_pairs, bytes, count, false};
    return calibrate_exchange(&probe);
}

/* CPU time of a message at both ends together, from how much longer many of
 * them take than one. */
static double both_overheads(const struct calibrate_kind *kind)
{
    struct calibrate_probe probe = {kind->pairs, kind->num_pairs, EMPTY_BYTES, BURST, kind->across};
    double many = calibrate_burst(&probe);
    probe.count = 1;
    return fmax((many - calibrate_burst(&probe)) / (BURST - 1), 0);
}

static void measure_sizes(const struct calibrate_kind *kind, struct calibrate_result *result)
{
    double last = exchange(kind, EMPTY_BYTES, LONG_SECONDS);
    for (size_t bytes = EMPTY_BYTES; bytes <= LARGEST_BYTES && result->num_sizes < CALIBRATE_MAX_SIZES; bytes *= 2) {
        last = exchange(kind, bytes, last);
        result->sizes[result->num_sizes] = bytes;
        result->times[result->num_sizes++] = last;
        if (last > LONG_SECONDS) {
            break;
        }
    }
}

/* Least squares through the largest sizes (a quarter of the largest and more);
 * errors count in proportion to the time. A handshake that all of them have
 * does not change the slope. */
static double slope(const struct calibrate_result *result)
{
    double weights = 0, x = 0, y = 0, xx = 0, xy = 0;
    size_t largest = result->sizes[result->num_sizes - 1];
    for (int i = 0; i < result->num_sizes; i++) {
        if (result->sizes[i] >= largest / 4) {
            double bytes = (double)result->sizes[i], time = result->times[i], weight = 1 / (time * time);
            weights += weight;
            x += weight * bytes;
            y += weight * time;
            xx += weight * bytes * bytes;
            xy += weight * bytes * time;
        }
    }
    double spread = weights * xx - x * x;
    double fitted = spread > 0 ? (weights * xy - x * y) / spread : 0;
    double direct = result->times[result->num_sizes - 1] / (double)largest;
    return fitted > direct / 4 && fitted < direct * 2 ? fitted : direct;
}

/* --- the handshake of large messages
 * ---------------------------------------------------------------------------------
 */

/* Time of a message if nothing changes from its half on. */
static double continued(const struct calibrate_result *result, int i)
{
    double growth = (double)(result->sizes[i] - result->sizes[i - 1]) * result->seconds_per_byte;
    return result->times[i - 1] + growth;
}

/* The size whose time jumps most, if one does: beyond what it takes to move the
 * bytes, and for good. */
static int find_step(const struct calibrate_result *result)
{
    int found = -1;
    double largest = 0;
    for (int i = 8; i + 1 < result->num_sizes; i++) {
        double jump = result->times[i] - continued(result, i);
        bool lasts = result->times[i + 1] > continued(result, i) + jump / 2;
        bool likely = jump > STEP_LEAST * result->times[0] && jump < STEP_MOST * result->times[0];
        if (result->times[i] > STEP_FACTOR * continued(result, i) && jump > largest && lasts && likely) {
            largest = jump;
            found = i;
        }
    }
    return found;
}

static void measure_step(const struct calibrate_kind *kind, struct calibrate_result *result)
{
    int i = find_step(result);
    if (i < 0) {
        return;
    }
    size_t eager = result->sizes[i - 1], handshake = result->sizes[i];
    double below = result->times[i - 1], jump = result->times[i] - continued(result, i);
    while (handshake - eager > STEP_RESOLUTION) {
        size_t bytes = (eager + handshake) / 2;
        double plain = below + (double)(bytes - result->sizes[i - 1]) * result->seconds_per_byte;
        if (exchange(kind, bytes, result->times[i]) > plain + jump / 2) {
            handshake = bytes;
        } else {
            eager = bytes;
        }
    }
    result->eager_bytes = eager;
    result->rendezvous = jump;
}

/* --- one kind of way
 * ---------------------------------------------------------------------------------------------------
 */

void calibrate_measure(const struct calibrate_kind *kind, struct calibrate_result *result)
{
    *result = (struct calibrate_result){.num_sizes = 0};
    measure_sizes(kind, result);
    double empty = result->times[0], both = fmin(both_overheads(kind), empty);
    result->send = result->receive = both / 2;
    result->latency = empty - both;
    result->seconds_per_byte = slope(result);
    measure_step(kind, result);
}

double calibrate_share(const struct calibrate_bundle *bundle, double seconds_per_byte)
{
    if (bundle->num_pairs < 2) {
        return -1;
    }
    double bytes = STREAM_SECONDS / seconds_per_byte / LARGE_STREAM;
    struct calibrate_probe probe = {bundle->pairs, bundle->num_pairs,
                                    bytes > (double)LARGEST_BYTES ? LARGEST_BYTES : (size_t)bytes + 1, LARGE_STREAM,
                                    false};
    calibrate_stream(&probe); /* sets up connections */
    return calibrate_stream(&probe) / (LARGE_STREAM * (double)probe.bytes) / bundle->num_pairs;
}
