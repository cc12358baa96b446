/* Program objects that live while graphs refer to them. Their destructors run in a driver thread, because
 * they may take locks that the caller holds. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <limits.h>

#include "graph.h"

/* A CUuserObject. */
struct user {
    void *pointer;
    CUhostFn destroy;
    uint64_t refs;
};

struct entry {
    struct user *user;
    uint64_t count;
};

/* The objects of one graph. Copies of a graph share the set until one of them changes it. */
struct sc_user_set {
    unsigned refs;
    size_t count;
    struct entry entries[];
};

static void *destroy(void *argument)
{
    struct user *user = argument;
    sc_set_in_callback(true);
    user->destroy(user->pointer);
    free(user);
    return NULL;
}

static void start_destroy(struct user *user)
{
    sigset_t blocked, old;
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    pthread_t thread;
    if (pthread_create(&thread, NULL, destroy, user))
        sc_log("no thread for the destructor of a user object: it never runs");
    else
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void release(struct user *user, uint64_t count)
{
    user->refs -= count;
    if (user->refs) return;
    sc_handle_remove(user);
    start_destroy(user);
}

struct sc_user_set *sc_user_set_ref(struct sc_user_set *set)
{
    if (set) set->refs++;
    return set;
}

void sc_user_set_unref(struct sc_user_set *set)
{
    if (!set || --set->refs) return;
    for (size_t i = 0; i < set->count; i++) release(set->entries[i].user, set->entries[i].count);
    free(set);
}

/* Gives the graph a set of its own with room for one more entry; NULL: no memory. */
static struct sc_user_set *own_set(struct sc_graph *graph)
{
    struct sc_user_set *old = graph->users;
    size_t count = old ? old->count : 0;
    struct sc_user_set *set = calloc(1, sizeof *set + (count + 1) * sizeof *set->entries);
    if (!set) return NULL;
    set->refs = 1;
    set->count = count;
    for (size_t i = 0; i < count; i++) {
        set->entries[i] = old->entries[i];
        set->entries[i].user->refs += set->entries[i].count;
    }
    sc_user_set_unref(old);
    graph->users = set;
    return set;
}

static struct entry *find(struct sc_user_set *set, const struct user *user)
{
    for (size_t i = 0; set && i < set->count; i++)
        if (set->entries[i].user == user) return &set->entries[i];
    return NULL;
}

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *out, void *pointer, CUhostFn destructor, unsigned int refs,
                                    unsigned int flags)
{
    if (!out || !destructor || !refs || refs > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct user *user = calloc(1, sizeof *user);
    if (!user || !sc_handle_add(user, SC_HANDLE_USER_OBJECT)) {
        free(user);
        return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *user = (struct user){pointer, destructor, refs};
    *out = (CUuserObject)user;
    return sc_leave(CUDA_SUCCESS);
}

static CUresult enter_user(CUuserObject handle, unsigned count, struct user **out)
{
    if (!count || count > INT_MAX) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    *out = (struct user *)handle;
    return sc_handle_is(handle, SC_HANDLE_USER_OBJECT) ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
    struct user *user;
    CUresult result = enter_user(handle, count, &user);
    if (result) return result;
    user->refs += count;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
    struct user *user;
    CUresult result = enter_user(handle, count, &user);
    if (result) return result;
    if (count > user->refs) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    release(user, count);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph handle, CUuserObject object, unsigned int count,
                                         unsigned int flags)
{
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
    struct user *user;
    CUresult result = enter_user(object, count, &user);
    if (result) return result;
    struct sc_graph *graph = sc_graph_find(handle);
    if (!graph) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_user_set *set = own_set(graph);
    if (!set) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    struct entry *entry = find(set, user);
    if (!entry) {
        entry = &set->entries[set->count++];
        entry->user = user;
    }
    entry->count += count;
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE)) user->refs += count;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph handle, CUuserObject object, unsigned int count)
{
    struct user *user;
    CUresult result = enter_user(object, count, &user);
    if (result) return result;
    struct sc_graph *graph = sc_graph_find(handle);
    struct entry *entry = graph ? find(graph->users, user) : NULL;
    if (!entry || entry->count < count) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_user_set *set = own_set(graph);
    if (!set) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    entry = find(set, user);
    entry->count -= count;
    if (!entry->count) *entry = set->entries[--set->count];
    release(user, count);
    return sc_leave(CUDA_SUCCESS);
}
