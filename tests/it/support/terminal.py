"""Runs a command on a terminal of its own: terminal.py ROWS COLUMNS COMMAND... What the terminal gets goes to standard output.

Once it has got the text in TERMINAL_CLOSE_AFTER, if there is one, the terminal is closed under the command."""

import fcntl
import os
import pty
import struct
import sys
import termios

rows, columns, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
child, terminal = pty.fork()
if child == 0:
    size = struct.pack("HHHH", rows, columns, 0, 0)
    fcntl.ioctl(0, termios.TIOCSWINSZ, size)
    os.execvp(command[0], command)
closes_after = os.environ.get("TERMINAL_CLOSE_AFTER", "").encode()
written = b""
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:  # how Linux says that nobody writes any more
        break
    if not data:
        break
    os.write(1, data)
    written += data
    if closes_after and closes_after in written:
        os.close(terminal)
        break
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
