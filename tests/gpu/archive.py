"""Writes a folder into one compressed archive, small enough for a machine that gives back few and small files.

An archive is replaced as a whole: a reader, or what is left after a kill, has the last complete one.
"""
import gzip
import io
import os
import tarfile

MOST_BYTES = 15 << 20  # before compression, which at worst adds a little: no more than 16 MiB after it
MOST_FILE_BYTES = 2 << 20
LEFT_OUT = "left-out.txt"


def read_ends(path):
    """The content, of a long file the first and the last part."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        if size <= MOST_FILE_BYTES:
            return file.read(MOST_FILE_BYTES)
        begin = file.read(MOST_FILE_BYTES // 2)
        file.seek(size - MOST_FILE_BYTES // 2)
        return begin + b"\n[... %d bytes ...]\n" % (size - MOST_FILE_BYTES) + file.read(MOST_FILE_BYTES // 2)


def find_files(folder):
    """Paths in the folder, the smallest first: many small results rather than a few long logs."""
    paths = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return sorted((path for path in paths if os.path.isfile(path)), key=lambda path: (os.path.getsize(path), path))


def pack(folder, top):
    """The archive's bytes; its files lie in the folder `top`. Files that are written meanwhile are taken as they are."""
    raw, left_out, used = io.BytesIO(), [], 0

    def add(name, content):
        entry = tarfile.TarInfo(f"{top}/{name}")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))

    with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w|") as archive:
        for path in find_files(folder):
            try:
                content = read_ends(path)
            except OSError as error:
                left_out.append(f"{path}: {error}")
                continue
            if used + len(content) > MOST_BYTES:
                left_out.append(f"{os.path.relpath(path, folder)}: {len(content)} bytes")
                continue
            used += len(content) + 1024  # with the entry's header and padding
            add(os.path.relpath(path, folder), content)
        if left_out:
            add(LEFT_OUT, "\n".join(left_out).encode() + b"\n")
    return raw.getvalue()


def replace(path, content):
    """Writes a file so that its path names either the old content or the new. `content`: bytes."""
    fresh = path + ".new"
    with open(fresh, "wb") as file:
        file.write(content)
    os.replace(fresh, path)
