"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# A slow machine must change no verdict, so no example has a deadline. CI repeats the same examples;
# elsewhere each run looks at new ones, and what they find is kept and tried again first.
settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
