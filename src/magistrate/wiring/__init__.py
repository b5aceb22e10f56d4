"""Builds running parts from the settings: it may import every other package, and only commands import it."""

from magistrate.wiring.contexts import context_of as context_of
from magistrate.wiring.contexts import open_context as open_context
from magistrate.wiring.contexts import open_import_context as open_import_context
from magistrate.wiring.garbage_collection import SURVIVORS as SURVIVORS
from magistrate.wiring.maintenance import Reached as Reached
from magistrate.wiring.maintenance import import_file as import_file
from magistrate.wiring.maintenance import prepare_store as prepare_store
from magistrate.wiring.maintenance import reset_key as reset_key
from magistrate.wiring.maintenance import revoke_sessions as revoke_sessions
from magistrate.wiring.playground import OpenedFile as OpenedFile
from magistrate.wiring.playground import run_playground as run_playground
from magistrate.wiring.server import SHOWN_TRIES as SHOWN_TRIES
from magistrate.wiring.server import create_application as create_application
from magistrate.wiring.server import listen as listen
from magistrate.wiring.server import serve as serve
from magistrate.wiring.server import server_config as server_config
from magistrate.wiring.service import open_service as open_service
from magistrate.wiring.stores import migrate_store as migrate_store
from magistrate.wiring.stores import open_store as open_store
from magistrate.wiring.stores import reach_store as reach_store
