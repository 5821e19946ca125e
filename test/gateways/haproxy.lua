-- Asks a node if a request may go on, and answers for it if not. Without an answer in time it goes on.
local node = "http://127.0.0.1:7080/v1/auth"
local timeout = 100 -- ms

local function drossel(txn)
	local res = core.httpclient():get{
		url = node,
		timeout = timeout,
		-- All that the node reads, so that clients can't write it.
		headers = {
			["x-forwarded-for"] = {txn.f:src()},
			["x-forwarded-method"] = {txn.f:method()},
			["x-forwarded-uri"] = {txn.f:pathq()},
			["x-forwarded-host"] = {txn.f:req_hdr("host")},
			["x-api-key"] = {txn.f:req_hdr("x-api-key")},
		},
	}
	-- What HAProxy makes up itself if no node answers is no problem body.
	local kind = res.headers and res.headers["content-type"]
	if not kind or not kind[0]:find("application/problem+json", 1, true) then return end
	local reply = txn:reply{status = res.status}
	for _, name in ipairs{"content-type", "retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining",
		"x-ratelimit-reset"} do
		local values = res.headers[name]
		if values then reply:add_header(name, values[0]) end
	end
	reply:set_body(res.body)
	txn:done(reply)
end

core.register_action("drossel", {"http-req"}, drossel, 0)
