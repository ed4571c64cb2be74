"""A heap profile, or two, as tls-memtest heap read is asked: tables, a tree of callers, and files."""

import argparse
import signal

from tlsmem.base import markdown_embedding, phase_names
from tlsmem.base.errors import Usage, UserError
from tlsmem.config.choices import PROFILE_FILES
from tlsmem.explore import profile_input, profile_output, profile_selection, profile_views
from tlsmem.schema import recording_files


def inspect(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """0, or 1 when a part of the profile is missing. Raises ValueError or OSError with a sentence."""
    profile_output.check_outputs(
        [getattr(given, name) for name in ("into", *PROFILE_FILES)], given.diff or [given.profile]
    )
    asked = argparse.Namespace(**vars(given))  # as it stands in a page
    sources = [profile_input.find_profile(file, given.stack) for file in given.diff or [given.profile]]
    given.phase = phase_names.recorded_name(given.phase)
    given.filter = profile_selection.pattern(given.filter) if given.filter else None
    profiles = [profile_input.read_profile(file, given.suite, given.stack) for file in sources]
    for profile in profiles:
        if profile_selection.has_roles(profile):
            profile.sessions_of_role = profile_selection.sessions_per_role(profile, given.sessions)
    if given.diff:
        page = profile_views.difference(*profiles, given)
    else:
        page = profile_views.show(profiles[0], given)
    if given.into:
        markdown_embedding.replace_block(given.into, asked, parser, page)
    return int(any(profile.torn for profile in profiles))


def show_profile(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Return the exit status. Raises UserError: Usage for what no profile has."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    try:
        status = inspect(given, parser)
    except UserError:
        raise
    except ValueError as error:
        raise Usage(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None
    return 1 if recording_files.skipped_lines else status
