# The command, libsluice.so and the software device below /usr/local, for the image itself and for others:
#   COPY --from=sluice /usr/local /usr/local
# Built on the oldest supported system, because a newer one's C library would be needed wherever the files are copied to.
FROM debian:12-slim AS build
WORKDIR /sluice
COPY . .
RUN bash -euc '. scripts/setup.sh; setup_configure; \
    meson configure build -Dlibdir=lib; \
    ninja -C build; \
    meson install -C build --no-rebuild --strip --destdir /stage'

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends libdw1 libncursesw6 && rm -rf /var/lib/apt/lists/*
COPY --from=build /stage/usr/local /usr/local
ENTRYPOINT ["sluice"]
CMD ["doctor"]
