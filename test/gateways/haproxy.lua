-- Asks a node if a request may go on, and answers for it if not. Without an answer of a node it goes on.
local timeout = 1000 -- ms: the proxy gives up before, since a request that is late here is sent again, and counts twice

local function drossel(txn)
	local client = txn.http:req_get_headers()
	local host = (txn.f:req_fhdr("host") or ""):gsub(":%d*$", "") -- without a port, which clients could vary
	local res = core.httpclient():get{
		url = "http://drossel/v1/auth",
		dst = "abns@drossel", -- the proxy of that name in haproxy.cfg
		timeout = timeout,
		-- All that the node reads, so that clients can't write it.
		headers = {
			["x-forwarded-for"] = {txn.f:src()},
			["x-forwarded-method"] = {txn.f:method()},
			["x-forwarded-uri"] = {txn.f:pathq()},
			["x-forwarded-host"] = {host},
			["x-api-key"] = client["x-api-key"], -- if there are two, the node has to see both
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
