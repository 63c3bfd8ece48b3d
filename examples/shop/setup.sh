#!/usr/bin/env bash
# Creates the two actions of the shop in a sandbox. BASE is the service's address, KEY a server key of the sandbox.
set -euo pipefail

send() { # METHOD PATH BODY
  local response
  response=$(curl -sS --fail-with-body -X "$1" "$BASE/api/v1/$2" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d "$3") ||
    { echo "$response" >&2 && return 1; }
  echo "$response"
}

# A user whose evidence is insufficient confirms a payment with a passkey, or in a sandbox with a button, and a reviewer checks a gift card.
action() { # KEY NAME CONSEQUENCE EFFECT
  local id
  id=$(send POST actions "{\"key\": \"$1\", \"name\": \"$2\", \"consequence\": \"$3\", \"allowed_audiences\": [\"shop\"], \"resource_type\": \"order\",
    \"context_schema\": {\"type\": \"object\", \"required\": [\"amount\"], \"additionalProperties\": false, \"properties\": {
      \"amount\": {\"type\": \"number\", \"x-countersign-display\": {\"label\": \"Amount\", \"format\": \"money\", \"currency\": \"EUR\"}}}}}" |
    sed -n 's/.*"id":"\(act_[^"]*\)".*/\1/p')
  send POST "actions/$id/policy-versions" "{\"requirements\": {\"coverage_min\": \"partial\", \"insufficient_evidence\": \"$4\", \"self_review\": \"barred\"}}" >/dev/null
  send POST "actions/$id/policy-versions/1/activate" '{}' >/dev/null
  send PATCH "actions/$id" '{"mode": "enforce"}' >/dev/null
  echo "$1 $id"
}
action shop.pay 'Pay an order' 'Money leaves your account.' challenge
action shop.gift_card 'Buy a gift card' 'Anyone with the code can spend it.' hold
