"""The pixels of a PNG as Chromium writes it: 8 bits a channel, not interlaced."""
import struct
import zlib

CHANNELS = {2: 3, 6: 4}  # types of colour: RGB, RGBA


def paeth(left, above, corner):
    """PNG specification, "Filter type 4"."""
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))


def unfilter(kind, line, before, step):
    for i in range(len(line)):
        left, corner = (line[i - step], before[i - step]) if i >= step else (0, 0)
        line[i] = (line[i] + (0, left, before[i], (left + before[i]) // 2, paeth(left, before[i], corner) if kind == 4 else 0)[kind]) & 255


class Picture:
    def __init__(self, png):
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed = 8, b""
        while at < len(png):
            length, name = struct.unpack(">I4s", png[at:at + 8])
            part = png[at + 8:at + 8 + length]
            if name == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", part)
                assert (depth, interlaced) == (8, 0)
                self.step = CHANNELS[colour]
            elif name == b"IDAT":
                packed += part
            at += length + 12
        content, length = zlib.decompress(packed), self.width * self.step
        self.lines, before = [], bytearray(length)
        for y in range(self.height):
            start = y * (length + 1)
            line = bytearray(content[start + 1:start + 1 + length])
            if content[start]:
                unfilter(content[start], line, before, self.step)
            self.lines.append(line)
            before = line

    def at(self, x, y):
        """Red, green and blue."""
        return tuple(self.lines[y][x * self.step:x * self.step + 3])

    def column(self, x):
        return [self.at(x, y) for y in range(self.height)]

    def row(self, y):
        return [self.at(x, y) for x in range(self.width)]


def rgb(colour):
    """(1, 2, 3) for "#010203"."""
    return tuple(int(colour[i:i + 2], 16) for i in (1, 3, 5))


def extent(pixels, colour):
    """The first pixel of this colour and the one behind the last, or None."""
    places = [i for i, pixel in enumerate(pixels) if pixel == colour]
    return (places[0], places[-1] + 1) if places else None
