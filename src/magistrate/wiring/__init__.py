"""Builds running parts from the settings; only this package may import everything.

`stores.py` opens stores by a table, `contexts.py` builds the context of operations on one, and `preparing.py` prepares
one for its service. `service.py` builds the service of a worker, whose keys `api_keys.py` keeps up to date, and
`serving.py` runs it, `playground.py` one that keeps nothing; `announcing.py` prints how to reach it. `garbage.py` keeps
garbage collections short. `model_testing.py` completes the outcomes of model tests that a command runs.
"""

from magistrate.wiring.announcing import SHOWN_TRIES as SHOWN_TRIES
from magistrate.wiring.contexts import context_of as context_of
from magistrate.wiring.contexts import open_context as open_context
from magistrate.wiring.contexts import open_import_context as open_import_context
from magistrate.wiring.garbage import SURVIVORS as SURVIVORS
from magistrate.wiring.playground import OpenedFile as OpenedFile
from magistrate.wiring.playground import run_playground as run_playground
from magistrate.wiring.preparing import Reached as Reached
from magistrate.wiring.preparing import import_file as import_file
from magistrate.wiring.preparing import prepare_store as prepare_store
from magistrate.wiring.preparing import reset_key as reset_key
from magistrate.wiring.preparing import revoke_sessions as revoke_sessions
from magistrate.wiring.service import open_service as open_service
from magistrate.wiring.serving import create_application as create_application
from magistrate.wiring.serving import listen as listen
from magistrate.wiring.serving import serve as serve
from magistrate.wiring.serving import server_config as server_config
from magistrate.wiring.stores import migrate_store as migrate_store
from magistrate.wiring.stores import open_store as open_store
from magistrate.wiring.stores import reach_store as reach_store
