"""Lists the settings of the service and of the commands, and reads them from flags and environment variables."""

from magistrate.config.api_keys import FileKeys as FileKeys
from magistrate.config.api_keys import FileState as FileState
from magistrate.config.api_keys import find_file_state as find_file_state
from magistrate.config.api_keys import read_api_key_file as read_api_key_file
from magistrate.config.database_url import DatabaseUrl as DatabaseUrl
from magistrate.config.database_url import PostgresUrl as PostgresUrl
from magistrate.config.database_url import SqliteUrl as SqliteUrl
from magistrate.config.database_url import read_database_url as read_database_url
from magistrate.config.settings import STORE_SETTINGS as STORE_SETTINGS
from magistrate.config.settings import ClientSettings as ClientSettings
from magistrate.config.settings import adopt_client_key as adopt_client_key
from magistrate.config.settings import find_service_links as find_service_links
from magistrate.config.settings import read_client_settings as read_client_settings
from magistrate.config.settings import read_settings as read_settings
from magistrate.config.settings import read_store_settings as read_store_settings
from magistrate.config.settings import read_warrant_api_key as read_warrant_api_key
from magistrate.config.settings_table import ALL_REQUESTS as ALL_REQUESTS
from magistrate.config.settings_table import CLIENT_SETTINGS as CLIENT_SETTINGS
from magistrate.config.settings_table import MOVING_SETTINGS as MOVING_SETTINGS
from magistrate.config.settings_table import PREFIX as PREFIX
from magistrate.config.settings_table import SETTINGS as SETTINGS
from magistrate.config.settings_table import Setting as Setting
from magistrate.config.settings_table import Settings as Settings
