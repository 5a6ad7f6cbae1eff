# Clearhead with its weights: `docker build -t clearhead .`; docs/hosting.md explains every line that matters in public.

# The Python that the constraints were tested with.
FROM python:3.11-slim-bookworm AS packages
# An index with CPU builds of PyTorch makes the image several gigabytes smaller; pip reads this name by itself.
ARG PIP_EXTRA_INDEX_URL=""
RUN python -m venv /opt/clearhead
WORKDIR /build
COPY requirements.txt requirements-postgres.txt requirements-redis.txt requirements-traces.txt requirements-openvino.txt constraints.txt ./
RUN /opt/clearhead/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
        --constraint constraints.txt --requirement requirements.txt --requirement requirements-postgres.txt \
        --requirement requirements-redis.txt --requirement requirements-traces.txt \
    && /opt/clearhead/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
        --no-deps --requirement requirements-openvino.txt

FROM python:3.11-slim-bookworm
# 1000 is also the only user that a Hugging Face Space runs an image as.
RUN useradd --uid 1000 --home-dir /var/lib/clearhead --create-home --shell /usr/sbin/nologin clearhead
COPY --from=packages /opt/clearhead /opt/clearhead
WORKDIR /srv/clearhead
COPY app.py LICENSE ./
COPY assets assets
COPY models models
COPY demo demo
# Compiled now, because the user that runs it may not write here.
RUN /opt/clearhead/bin/python -m compileall -q app.py demo models
# Graphs of the bundled models, in the volume, where those of published models are written, too.
ENV XDG_CACHE_HOME=/var/lib/clearhead/cache
RUN /opt/clearhead/bin/python -m models.loading && chown -R clearhead:clearhead /var/lib/clearhead/cache

ENV CLEARHEAD_HOST=0.0.0.0 \
    CLEARHEAD_PORT=7860 \
    CLEARHEAD_DATABASE_URL=sqlite:////var/lib/clearhead/sessions.sqlite3 \
    CLEARHEAD_LOG=json \
    HF_HOME=/var/lib/clearhead/hub \
    MPLCONFIGDIR=/tmp/matplotlib \
    PYTHONUNBUFFERED=1
USER 1000:1000
VOLUME /var/lib/clearhead
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=180s --retries=3 \
    CMD ["/opt/clearhead/bin/python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ['CLEARHEAD_PORT']}/healthz\", timeout=4)"]
# A volume of an older image lacks this one's graphs; where they are there, the first command takes a second.
CMD ["sh", "-c", "/opt/clearhead/bin/python -m models.loading; exec /opt/clearhead/bin/python app.py"]
