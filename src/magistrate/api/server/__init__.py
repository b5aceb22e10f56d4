"""Runs the processes and the connections of the service.

`supervisor.py` accepts connections and hands them to the workers (`worker.py`, `accepting.py`); each runs a
`server.py`. `protocol.py`, with the states of `connection_state.py` and the limits of `bounded_config.py`, and
`client_transport.py` bound what a connection may send, hold and leave unread, and `connection_memory.py` what all of
them hold together; `tls.py` encrypts connections, `slicing.py` parses what arrives in slices, `keep_alive.py` ends idle
connections, and `refusals.py` renders the answers to what is refused. `fast_path_protocol.py` and `fast_path.py` answer
cached checks before the web framework sees them, with a `bounded_cache.py` of what is likely to come again, and
`rate_limit.py` counts the requests of each caller, `refused_requests.py` those without a valid key. `ledger.py` records
what was answered, in `metrics.py` and `access_log.py`; `audit_log.py` writes the audit log, to `audit_file.py` or
`audit_output.py`, with the records of `audit_records.py`.
"""
