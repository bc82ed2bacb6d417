# SPDX-License-Identifier: BSD-3-Clause
"""Why something is odd, proven by removing it: `volley explain`. docs/explaining.md tells how."""

from volley.explain.cause import Cause, Examination, Suspicion
from volley.explain.explain import Explainer, Verdict, places

__all__ = ["Cause", "Examination", "Explainer", "Suspicion", "Verdict", "places"]
