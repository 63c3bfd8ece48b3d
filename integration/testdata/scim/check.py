"""Checks a SCIM 2.0 service with scim2-tester: address and token are the arguments. It prints each check, and ends with 1 if one failed."""

import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

http = Client(base_url=sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]}, timeout=60)
client = SyncSCIMClient(http)
client.discover()
failed = 0
for result in check_server(client):
    print(result.status.name, result.title, result.reason or "", sep=" | ")
    failed += result.status in (Status.ERROR, Status.CRITICAL)
sys.exit(failed > 0)
