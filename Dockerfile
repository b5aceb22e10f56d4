# syntax=docker/dockerfile:1
# The image of the service: `docker build --tag magistrate .` See docs/installing.md.
# The base is a tag here, and the digest that it has on that day in a release: .github/workflows/release.yml fills it in.
ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md CHANGELOG.md LICENSE ./
COPY src src
ARG COMMIT=unknown
RUN echo "$COMMIT" > src/magistrate/commit.txt
RUN python -m venv /opt/magistrate \
    && /opt/magistrate/bin/pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt ".[otel]" \
    && /opt/magistrate/bin/python -m compileall -q /opt/magistrate/lib

FROM ${BASE}
ARG BASE
LABEL org.opencontainers.image.base.name=${BASE}
COPY --from=build /opt/magistrate /opt/magistrate
COPY deploy/probe.sh /usr/local/bin/magistrate-probe
RUN groupadd --system --gid 10001 magistrate \
    && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin magistrate \
    && install --directory --owner 10001 --group 10001 --mode 0700 /data
ENV PATH=/opt/magistrate/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    MAGISTRATE_HOST=0.0.0.0 \
    MAGISTRATE_ADMIN_PORT=8001 \
    MAGISTRATE_DATABASE_URL=sqlite:////data/magistrate.db
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["magistrate-probe"]
ENTRYPOINT ["magistrate"]
CMD ["serve"]
