-- The action countersign of HAProxy 2.6 and later: it asks countersign-gate (listen.forward_auth) about a request, and continues only if the
-- response is 204. Load it with lua-load, and deny what it has not allowed:
--
--   http-request lua.countersign http://127.0.0.1:8081/
--   http-request deny deny_status 503 unless { var(txn.countersign) -m str allowed }
--
-- HAProxy goes on with a request if an action fails. That is why the second line is needed.

local timeout = 5000 -- milliseconds

-- Headers of the connection between the client and HAProxy, and those that this action sets.
local skipped = {
  ["connection"] = true, ["content-length"] = true, ["transfer-encoding"] = true, ["expect"] = true, ["host"] = true, ["te"] = true,
  ["x-forwarded-method"] = true, ["x-forwarded-host"] = true, ["x-forwarded-uri"] = true, ["x-forwarded-proto"] = true,
  ["x-forwarded-for"] = true,
}

local function values(list)
  local out, i = {}, 0
  while list[i] ~= nil do
    out[#out + 1] = list[i]
    i = i + 1
  end
  return out
end

local function unavailable(txn)
  local reply = txn:reply()
  reply:set_status(503)
  reply:add_header("cache-control", "no-store")
  reply:add_header("retry-after", "2")
  txn:done(reply)
end

core.register_action("countersign", { "http-req" }, function(txn, gate)
  local headers, hosts = {}, nil
  for name, list in pairs(txn.http:req_get_headers()) do
    if name == "host" then
      hosts = values(list)
    end
    -- The Upgrade header has no connection here; the gate reads it all the same.
    if not skipped[name] then
      headers[name] = values(list)
    end
  end
  headers["x-forwarded-host"] = hosts or { "" }
  headers["x-forwarded-method"] = { txn.f:method() }
  headers["x-forwarded-uri"] = { txn.f:url() }
  headers["x-forwarded-proto"] = { txn.f:ssl_fc() == 1 and "https" or "http" }
  headers["x-forwarded-for"] = { txn.f:src() }

  local asked, response = pcall(function()
    return core.httpclient():get({ url = gate, headers = headers, timeout = timeout })
  end)
  if not asked or response == nil or type(response.status) ~= "number" or response.status < 200 or response.status > 599 then
    return unavailable(txn)
  end
  local found = response.headers or {}
  if response.status == 204 then
    for name, _ in pairs(txn.http:req_get_headers()) do
      if string.find(string.gsub(name, "_", "-"), "^countersign%-") then
        txn.http:req_del_header(name)
      end
    end
    local proof = found["countersign-proof"] and found["countersign-proof"][0]
    if proof then
      txn.http:req_set_header("Countersign-Proof", proof)
    end
    txn:set_var("txn.countersign", "allowed")
    return
  end
  if response.status < 300 then
    return unavailable(txn)
  end
  local reply = txn:reply()
  reply:set_status(response.status)
  for _, name in ipairs({ "cache-control", "content-security-policy", "content-type", "location", "referrer-policy", "retry-after", "set-cookie", "www-authenticate" }) do
    for _, value in ipairs(values(found[name] or {})) do
      reply:add_header(name, value)
    end
  end
  reply:set_body(response.body or "")
  txn:done(reply)
end, 1)
