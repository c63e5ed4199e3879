"""The exceptions of koordopt, told apart by what the reader should do.

::

    KoordoptError
    ├── InvalidInputError (ValueError)    the caller's mistake: correct the input
    └── VerificationError                 our model is wrong: stop, keep the cycle

An outcome (infeasible, out of time, unschedulable) is a value, never an exception.
"""


class KoordoptError(Exception):
    """Base of every exception that koordopt raises on purpose."""


class InvalidInputError(KoordoptError, ValueError):
    """Raised at the edge for input or arguments that cannot be used."""


class VerificationError(KoordoptError):
    """Raised when a plan of ours fails the independent check."""
