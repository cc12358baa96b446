/* A library that wants static thread-local storage, as allocators and sanitizers do. */
static __thread volatile char room[ROOM_BYTES] __attribute__((tls_model("initial-exec")));

__attribute__((visibility("default"))) int use_room(void);
int use_room(void)
{
    room[ROOM_BYTES - 1] = 1;
    return room[ROOM_BYTES - 1];
}
