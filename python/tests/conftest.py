"""What all tests need: interrupts, which a shell that starts them in the background switches off."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
