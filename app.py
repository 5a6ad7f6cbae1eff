"""Clearhead's page: `python app.py` serves it; hosts that serve pages themselves import `demo`."""

import os

# Read by gradio and huggingface_hub when they are imported: nobody is told who visits.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from demo.service import DemoService
from demo.sessions.database import open_runs
from demo.sessions.upkeep import Upkeep
from demo.settings import Settings
from demo.ui import build_demo, launch_options
from models.loading import ModelStore

settings = Settings.from_environment()
runs = open_runs(settings.database_url)
Upkeep(runs, settings.retention_days).start()
service = DemoService(settings, ModelStore(settings.model_bytes), runs)
demo = build_demo(service).queue(max_size=settings.queue, default_concurrency_limit=settings.concurrency)

if __name__ == "__main__":
    demo.launch(
        server_name=settings.host,
        server_port=settings.port,
        root_path=settings.root_path,
        mcp_server=True,
        ssr_mode=False,
        share=False,
        show_error=False,
        enable_monitoring=False,
        run_history=False,
        max_file_size="1kb",
        footer_links=["api"],
        **launch_options(),
    )
