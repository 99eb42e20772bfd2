/* Keeps its cursor in a thread-local variable of the static model. */
#include <shunt/sdk/abi.h>
#define GALLERY_SELECT select_thread_local
static __thread uint32_t cursor __attribute__((tls_model("initial-exec")));
static shunt_status select_thread_local(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    (void)self, (void)msg;
    out->queue_index = cursor++ % view->n_queues;
    return SHUNT_OK;
}
#include "gallery.h"
