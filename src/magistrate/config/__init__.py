"""Defines the settings, and reads them from flags and environment variables.

`settings_table.py` lists every `setting.py` once; flags, variables, `--help` and the documents are derived from it.
`reading.py` reads them, without the variables that `service_links.py` finds, `api_keys.py` the API keys and the file
that holds some, and `database_url.py` the URL of the database, by a table of schemes.
"""

from magistrate.config.api_keys import FileKeys as FileKeys
from magistrate.config.api_keys import FileState as FileState
from magistrate.config.api_keys import find_file_state as find_file_state
from magistrate.config.api_keys import read_api_key_file as read_api_key_file
from magistrate.config.database_url import DatabaseUrl as DatabaseUrl
from magistrate.config.database_url import PostgresUrl as PostgresUrl
from magistrate.config.database_url import SqliteUrl as SqliteUrl
from magistrate.config.database_url import read_database_url as read_database_url
from magistrate.config.reading import STORE_SETTINGS as STORE_SETTINGS
from magistrate.config.reading import ClientSettings as ClientSettings
from magistrate.config.reading import Settings as Settings
from magistrate.config.reading import adopt_client_key as adopt_client_key
from magistrate.config.reading import read_client_settings as read_client_settings
from magistrate.config.reading import read_settings as read_settings
from magistrate.config.reading import read_store_settings as read_store_settings
from magistrate.config.reading import read_warrant_api_key as read_warrant_api_key
from magistrate.config.service_links import find_service_links as find_service_links
from magistrate.config.setting import PREFIX as PREFIX
from magistrate.config.setting import Setting as Setting
from magistrate.config.settings_table import ALL_REQUESTS as ALL_REQUESTS
from magistrate.config.settings_table import CLIENT_SETTINGS as CLIENT_SETTINGS
from magistrate.config.settings_table import MOVING_SETTINGS as MOVING_SETTINGS
from magistrate.config.settings_table import SETTINGS as SETTINGS
