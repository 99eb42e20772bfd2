/* Calls a function that no strategy has a use for, where it never comes to it. GALLERY_CALL says which. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <shunt/sdk/abi.h>
#pragma GCC diagnostic ignored "-Wnonnull"
#define GALLERY_NAME "imports"
#define GALLERY_SELECT select_and_call
static volatile int never_here;
/* What is passed where a text is wanted. */
static __attribute__((unused)) char never[2];
static __attribute__((unused)) pthread_t some_thread;
static __attribute__((unused)) pthread_key_t some_key;
static __attribute__((unused)) void *runs(void *nothing)
{
    return nothing;
}
static shunt_status select_and_call(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    (void)self, (void)view, (void)msg;
    if (never_here)
        never_here = (int)(intptr_t)(GALLERY_CALL);
    out->queue_index = 0;
    return SHUNT_OK;
}
#include "gallery.h"
