"""The endpoints of a session: its runs, their deletion and their export."""

from typing import Literal

import gradio as gr

from demo.api.callers import add_endpoint, required_session_of, short_text
from demo.limits import whole_number
from demo.log.export import LoggedRun, public_fields
from demo.runs import RUNS_OF_A_PAGE, DemoService
from models.errors import InputError
from models.wording import Sentence


def add_session_endpoints(service: DemoService) -> None:
    """Add the endpoints that read and delete the runs of a caller's session."""

    def session_runs(request: gr.Request, limit: int = RUNS_OF_A_PAGE, offset: int = 0) -> list[LoggedRun]:
        """List the runs of this client's session, failed ones too, newest first, a page of them at a time.

        Args:
            limit: How many runs, from 1 to 50.
            offset: How many of the newest runs to pass over: 50 for the second page of 50.
        """
        session_id = required_session_of(request)
        most, skip = (
            whole_number(limit, Sentence("The limit"), "limit"),
            whole_number(offset, Sentence("The offset"), "offset"),
        )
        if not 1 <= most <= RUNS_OF_A_PAGE:
            raise InputError(Sentence("The limit must be from 1 to {most}.", most=RUNS_OF_A_PAGE), "limit")
        if skip < 0:
            raise InputError(Sentence("The offset must be 0 or more."), "offset")
        return [public_fields(run) for run in service.history(session_id, most, skip)]

    def session_delete(request: gr.Request, run_id: str) -> bool:
        """Delete one run of this client's session; true if it was there.

        Args:
            run_id: The run_id of an earlier answer.
        """
        return service.delete(short_text(run_id, Sentence("The run id"), "run_id"), required_session_of(request))

    def session_delete_all(request: gr.Request) -> int:
        """Delete every run of this client's session; the number of runs that it had."""
        return service.delete_all(required_session_of(request))

    def session_export(request: gr.Request, format: Literal["csv", "json"] = "csv") -> str:
        """Export the runs of this client's session as the text of a CSV or JSON file.

        Args:
            format: csv or json.
        """
        exports = {"csv": service.export_csv, "json": service.export_json}
        if not isinstance(format, str) or format not in exports:
            raise InputError(Sentence("The format must be csv or json."), "format")
        return exports[format](required_session_of(request))

    for endpoint in (session_runs, session_delete, session_delete_all, session_export):
        # MCP callers share one client, so a session there would be everybody's: these endpoints are no tools.
        vars(endpoint)["_mcp_type"] = "none"
        add_endpoint(endpoint, queue=False)
