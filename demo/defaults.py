"""Which model each tab and endpoint begins with: the bundled ones, or the standard published ones.

`python -m demo.defaults published` fetches these and makes them this host's defaults from its next start on;
`python -m demo.defaults bundled` goes back. The About tab has buttons for both.
"""

import argparse
import logging
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from platformdirs import user_data_path
from sqlalchemy.engine import make_url

from demo.log.database import file_of
from demo.settings import SettingError, Settings
from models.engine import EngineSettings
from models.errors import InputError
from models.loading import Progress
from models.registry import STANDARD, Checkpoint, Task, checkpoints_for
from models.wording import Sentence

BUNDLED, PUBLISHED = "bundled", "published"
_log = logging.getLogger(__name__)


class Defaults:
    """The default checkpoint of each task, as the host's setting says, or else as was chosen last.

    The choice is kept in a file beside an SQLite database, or in the user's data folder. Safe to use from many threads.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        database = file_of(make_url(settings.database_url))
        self._file = database.with_suffix(".defaults") if database else Path(user_data_path("clearhead")) / "defaults"
        self._watchers: list[Callable[[], None]] = []
        self._of = _found(settings.defaults or self._kept())

    def of(self, task: Task) -> Checkpoint:
        """The checkpoint that answers `task` where none is named."""
        default = self._of[task.answered_by]
        return default if default in checkpoints_for(task) else checkpoints_for(task)[0]

    @property
    def are_published(self) -> bool:
        """Whether any default is a published checkpoint."""
        return any(each.hub_id for each in self._of.values())

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` whenever the defaults change."""
        self._watchers.append(watcher)

    def fetch(self, progress: Progress) -> None:
        """Fetch the published checkpoints and choose them; where that raises `InputError`, the defaults stay."""
        from models.loading.published import fetch_standard

        fetch_standard(EngineSettings(self._settings.engine, self._settings.precision), progress)
        self.choose(PUBLISHED)

    def choose(self, which: str) -> None:
        """Make the `BUNDLED` or `PUBLISHED` checkpoints the defaults; raises `InputError` if that cannot be kept."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(which + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(
                Sentence("The choice of the default models cannot be kept: {reason}.", reason=error.strerror)
            ) from error
        self._of = _found(which)
        for watcher in self._watchers:
            watcher()

    def _kept(self) -> str:
        try:
            return self._file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return BUNDLED


def _found(which: str) -> dict[Task, Checkpoint]:
    """The default checkpoints called `which`; for a published one not on disk, the bundled one and a warning."""
    found = {task: checkpoints_for(task)[0] for task in Task if task.answered_by is task}
    if which == PUBLISHED:
        from models.loading.hub import is_downloaded

        for task, published in STANDARD.items():
            if is_downloaded(published):
                found[task] = published
            else:
                _log.warning("%s is not on this disk: %s stays the default", published.name, found[task].name)
    return found


def _shown(_fraction: float, message: str) -> None:
    # Cut to one line, because a message of two could not be overwritten.
    width = shutil.get_terminal_size().columns - 1
    print(f"\r{message[:width]:{width}}", end="", flush=True)


def main() -> None:
    """Do what the command line asks for; where that fails, say why in one sentence and exit with 1."""
    parser = argparse.ArgumentParser(prog="python -m demo.defaults", description=__doc__)
    parser.add_argument("which", choices=(BUNDLED, PUBLISHED))
    which = parser.parse_args().which
    try:
        settings = Settings.from_environment()
        defaults = Defaults(settings)
        if which == PUBLISHED:
            defaults.fetch(_shown)
            print()
        else:
            defaults.choose(which)
    except KeyboardInterrupt:
        sys.exit("\nStopped. What has come is kept, and the same command goes on from there.")
    except (InputError, SettingError) as error:
        sys.exit(f"\n{error}")
    if settings.defaults not in (None, which):
        print(f"CLEARHEAD_DEFAULTS={settings.defaults} goes before this choice.")
    print(f"From the next start on, the page begins with the {which} models.")


if __name__ == "__main__":
    main()
