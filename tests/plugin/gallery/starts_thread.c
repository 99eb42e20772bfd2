/* Starts a thread, which no strategy should. */
#include <pthread.h>
#define GALLERY_NAME "starts-thread"
#define GALLERY_SELECT select_in_thread
#include <shunt/sdk/abi.h>
static void *run(void *arg) { return arg; }
static shunt_status select_in_thread(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    (void)self, (void)view, (void)msg;
    pthread_t thread;
    out->queue_index = 0;
    return pthread_create(&thread, 0, run, 0) == 0 && pthread_join(thread, 0) == 0 ? SHUNT_OK : SHUNT_E_INVALID;
}
#include "gallery.h"
