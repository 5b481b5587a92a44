# One image for web, worker and the two steps before them. docs/how-to/containers.md tells how it is run.

FROM python:3.11.14-slim-bookworm AS packages
RUN python -m venv --without-pip /opt/loci/venv
COPY requirements/run.txt requirements/redis.txt requirements/tracing.txt /tmp/requirements/
# Wheels only, each with the hash of the lock: nothing of others is run or compiled here.
RUN for lock in run redis tracing; do \
        python -m pip --python /opt/loci/venv/bin/python install --no-cache-dir --disable-pip-version-check \
            --no-deps --require-hashes --only-binary=:all: --no-compile -r "/tmp/requirements/$lock.txt" || exit 1; \
    done
# The file system of a container cannot be written, so that bytecode has to be there. Packages may hold files for other
# versions of Python, which cannot be compiled and are never read.
RUN /opt/loci/venv/bin/python -m compileall -q -j 0 /opt/loci/venv/lib || true

FROM python:3.11.14-slim-bookworm
# What installs packages has no business where agents' memories are.
RUN python -m pip uninstall --yes --root-user-action=ignore pip setuptools wheel \
    && rm -rf /usr/local/lib/python3.11/ensurepip \
    && groupadd --gid 10001 loci \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin loci \
    && install -d -o 10001 -g 10001 -m 0700 \
        /etc/loci /var/lib/loci /var/lib/loci-keys /var/cache/loci /var/lib/loci-metrics
COPY --from=packages /opt/loci/venv /opt/loci/venv
WORKDIR /opt/loci/app
COPY LICENSE manage.py ./
COPY config ./config
COPY locale ./locale
COPY memory ./memory
COPY runtime ./runtime
COPY static ./static
COPY telemetry ./telemetry
COPY templates ./templates
RUN /opt/loci/venv/bin/python -m compileall -q -j 0 /opt/loci/app
ENV PATH=/opt/loci/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    LOCI_NO_BOOTSTRAP=1 \
    LOCI_HOST=0.0.0.0 \
    LOCI_PORT=8420 \
    LOCI_ALLOWED_HOSTS=localhost,127.0.0.1,[::1],web \
    LOCI_CONFIG_DIR=/etc/loci \
    LOCI_DATA_DIR=/var/lib/loci \
    LOCI_KEYS_DIR=/var/lib/loci-keys \
    LOCI_CACHE_DIR=/var/cache/loci \
    LOCI_METRICS_DIR=/var/lib/loci-metrics
USER 10001:10001
EXPOSE 8420
STOPSIGNAL SIGTERM
CMD ["python", "manage.py", "start", "web"]
