"""Clearhead's page: `python app.py` serves it; hosts that serve pages themselves import `app` or `demo`.

`app` is the whole site (ASGI). `demo` is its page (Gradio) without the headers and the limits around it.
"""

import gc
import os
from threading import Timer

if __name__ == "__main__":
    # Before anything else is imported, so that `--help` starts nothing.
    from demo.settings import read_command_line

    read_command_line()

# Objects made until the page stands live as long as the process: collecting garbage there only delays the start.
gc.disable()

# Read by gradio and huggingface_hub when they are imported: neither may report who visits.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
# Gradio would sum up its last 10,000 events after each event, for a page that is off; the host's page counts by itself.
os.environ["GRADIO_ANALYTICS_MAX_EVENTS"] = "1"
os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(10**9)
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
# FastAPI would trace every call with its address, which names the session; demo/web/traces.py does not.
os.environ["FASTAPI_OTEL_AUTO_CONFIGURE"] = "false"

from demo.log.database import require_url
from demo.log.deletions import hear_deletions
from demo.log.session_log import SessionLog
from demo.log.upkeep import Upkeep
from demo.page import build_demo
from demo.runs import DemoService
from demo.settings import SettingError, Settings
from demo.web import traces
from demo.web.app import create_app
from demo.web.host_log import set_up_log, stop
from demo.web.server import serve
from models.backend import Backend, LocalBackend
from models.engine import EngineSettings
from models.loading import import_looks
from models.loading.store import ModelStore

set_up_log("plain")
try:
    settings = Settings.from_environment()
    set_up_log(settings.log)
    traces.set_up(settings.traces)
    store = ModelStore(settings.model_mb * 10**6, EngineSettings(settings.engine, settings.precision))
    require_url(settings.database_url)
    runs = SessionLog(settings.database_url)
    backend: Backend = LocalBackend(store)
    if settings.workers:
        from models.backend.remote import RemoteBackend

        backend = RemoteBackend(settings.workers)
    service = DemoService(settings, backend, runs)
    Upkeep(runs, settings.retention_days, forget_old=service.forget_old).start()
    demo = build_demo(service)
    app = create_app(demo, service, store)
    hear_deletions(settings.database_url, service.hear)
except SettingError as error:
    stop(error)

gc.freeze()
gc.enable()
LOOKS_AFTER_S = 3.0
"""The delay of the import of torch and transformers: after the first page, before a visitor has read it and asked."""

if __name__ == "__main__":
    if not settings.workers:
        looks = Timer(LOOKS_AFTER_S, import_looks)
        looks.daemon = True
        looks.start()
    try:
        serve(app, demo, settings)
    except SettingError as error:
        stop(error)
