"""The first decision with the wheel."""

import os

from countersign import Countersign, decide

result = decide(
    Countersign(os.environ["COUNTERSIGN_URL"], os.environ["COUNTERSIGN_KEY"]),
    {
        "subject": os.environ["SUBJECT"],
        "action": os.environ["ACTION"],
        "resource": {"type": "account", "id": "acc-1"},
        "audience": "payments",
        "context": {"amount": 250},
    },
    "closed",
)
if not result.response:
    raise SystemExit("no decision of the service")
print(result.response["decision"])
