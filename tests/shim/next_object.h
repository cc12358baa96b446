#ifndef NEXT_OBJECT_H
#define NEXT_OBJECT_H

#define NEXT_VISIBLE __attribute__((visibility("default")))

typedef const char *next_who_fn(void);

/* Defined in the program, in this object and in a last one. */
NEXT_VISIBLE const char *next_who(void);
/* Defined in the last one only, which so follows this object. */
NEXT_VISIBLE const char *next_last_word(void);
/* What RTLD_NEXT and RTLD_DEFAULT find from inside this object. */
NEXT_VISIBLE next_who_fn *next_from_object(void); /* NULL unless the last object is there */
NEXT_VISIBLE next_who_fn *next_version_from_object(void);
NEXT_VISIBLE void *default_from_object(void);

#endif
