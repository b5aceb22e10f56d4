"""Becomes the command of its arguments, with the default action for every signal and none blocked.

Whoever starts a process hands down which signals are ignored and blocked: under `nohup` or in the background of a
shell script, a service started by a test would otherwise never see SIGHUP or SIGINT. This is a program of its own
because Python runs no code of ours between fork and exec in a process that has threads."""

import os
import signal
import sys

for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
os.execvp(sys.argv[1], sys.argv[1:])
