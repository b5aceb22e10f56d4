"""Lists the settings of the service and of the commands, and reads them from flags and environment variables."""
