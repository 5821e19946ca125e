-- One group of limits on one key, decided by the clock of Redis: all or none. KEYS[1] is a hash with the state of each limit, by its tag,
-- t@, the latest instant seen, o@, which chunks are out, and of each asker, by @ and his name, what was done for him; it is there until u@ at least. All numbers are
-- whole and below 2^53, which is as far as those of Lua are exact; instants are microseconds of Unix time.
--
-- ARGV: what to do (take, look, debit, give or refund), the instant (0: now; for another nothing expires), how many limits, and for each
--   its tag, its algorithm, its cost, and
--   bucket, pacer: tokens per period (C/P, reduced), the most it holds (of a pacer how much may be ahead), and of a pacer parts on top
--   log, counters, fixed, first: the window and what it admits
--   calendar: what it admits, a number that names period and zone, how many windows follow, and each as index, begin and end
-- and after these, to take or debit, who asks, the number that he gives it and up to which number he will not ask any more; to take for how
-- long it is a chunk, which may be spent or given back until then (0: it is spent now); and to give, the instant at which it was taken,
-- and for how long that was.
--
-- While a chunk is out a bucket does not fill up the room that it has left: else a full bucket and the chunk could be spent at one moment.
-- What comes back later than that stays away.
-- Returns 1 or 0, the instant, and of each limit its state before the take: how many numbers, and these. Nothing has changed if it returns
-- -1 and the instant, for a calendar without the window of that, or -2 and the instant, of a take whose number was done before.

-- What is used often is looked up once.
local call, ARGV, tonumber, format, match, gmatch, sub = redis.call, ARGV, tonumber, string.format, string.match, string.gmatch, string.sub
local max, min, ceil, floor = math.max, math.min, math.ceil, math.floor

local BIG = 9007199254740992
local KEEP = 2251799813685248 -- 2^51 microseconds are 71 years
local KNOWN = 60000000 -- for how long it is known at the least what was debited
local GONE = 3600000000 -- after which time without a word an asker is forgotten
local SLOT = 62500 -- chunks that end within one count as one

-- a * b + c in parts of d: quotient and remainder. b and d are below 2^51, c is below d, and a quotient above 2^53 is returned as that.
local function divide(a, b, c, d)
	local sum = a * b + c
	if sum < BIG then
		local r = sum % d
		return (sum - r) / d, r
	end
	local bit = 1
	while bit * 2 <= a do bit = bit * 2 end
	local q, r = 0, 0
	while bit >= 1 do
		r = r * 2
		if a >= bit then
			a, r = a - bit, r + b
		end
		local rest = r % d
		q, r = q * 2 + (r - rest) / d, rest
		if q >= BIG then return BIG, 0 end
		bit = bit / 2
	end
	r = r + c
	if r >= d then
		q, r = q + 1, r - d
	end
	return q, r
end

-- How long it takes until so many tokens have come, less the parts of one that are there, rounded up.
local function time_for(tokens, parts, count, per)
	local q, r = divide(tokens, per, 0, count)
	if q >= KEEP then return KEEP end
	return q + ceil((r - parts) / count)
end

local now
local chunks = {} -- that may still have been spent since the latest instant: when each ends, and how much it is
local changed = false -- some limit has other numbers than were stored
local at = 4

local function next_arg()
	local v = ARGV[at]
	at = at + 1
	return v
end

local function number() return tonumber(next_arg()) end

local function refill(s, cap, from, to)
	if s.tokens >= cap or s.count == 0 or to <= from then return end
	local arrived, parts = divide(to - from, s.count, s.parts, s.per)
	if arrived >= cap - s.tokens then
		s.tokens, s.parts = cap, 0
	else
		s.tokens, s.parts = s.tokens + arrived, parts
	end
end

-- Fills up to what chunks leave room for, from the end of one to that of the next.
local function refill_around(s, most, from)
	local out = 0
	for i = 1, #chunks do out = out + chunks[i][2] end
	for i = 1, #chunks do
		local c = chunks[i]
		if c[1] >= now then break end
		refill(s, most - out, from, c[1])
		out, from = out - c[2], max(from, c[1])
	end
	refill(s, most - out, from, now)
end

-- Each kind reads its limit, starts a state, writes it as numbers and takes those up again, brings it to the instant, says if a cost fits,
-- takes it, how long it takes to be as new, and what was taken of it. It is made when it is asked for: to make all of them would take as
-- long as everything else.
local makers, kinds = {}, {}

local function kind_of(name)
	if not kinds[name] then kinds[name] = makers[name]() end
	return kinds[name]
end

local function pack_level(s) return {s.tokens, s.parts} end
local function unpack_level(n) return {tokens = n[1], parts = n[2]} end
local function fits(s, _, cost) return cost <= s.tokens end
local function take(s, _, cost) s.tokens = s.tokens - cost end
local function used(s, l) return l.most - s.tokens end
local function bottom(s, l) return s.tokens + l.most end
local function most_of(l) return l.most end

local function refund_up_to(s, most, cost)
	if s.tokens >= most then return end
	s.tokens = min(most, s.tokens + cost)
	if s.tokens == most then s.parts = 0 end
end

function makers.bucket()
	return {
		flows = true,
		limit = function(l)
			l.raw = ARGV[at] .. " " .. ARGV[at + 1] .. " " .. ARGV[at + 2]
			l.count, l.per, l.most = number(), number(), number()
		end,
		start = function(l) return {tokens = l.most, parts = 0} end,
		pack = pack_level,
		unpack = unpack_level,
		refill = function(s, l, from)
			s.count, s.per = l.count, l.per
			refill_around(s, l.most, from)
		end,
		fits = fits,
		take = take,
		rest = function(s, l)
			if s.tokens >= l.most or l.most == 0 then return 0 end
			if l.count == 0 then return KEEP end
			return time_for(l.most - s.tokens, s.parts, l.count, l.per)
		end,
		used = used,
		bottom = bottom,
		give = function(s, l, cost)
			s.tokens = s.tokens + cost
			if s.tokens >= l.most then
				s.tokens, s.parts = l.most, 0
			end
		end,
		refund = function(s, l, cost, out) refund_up_to(s, l.most - out, cost) end,
		capacity = most_of,
	}
end

function makers.pacer()
	return {
		flows = true,
		limit = function(l)
			l.raw = ARGV[at] .. " " .. ARGV[at + 1] .. " " .. ARGV[at + 2]
			l.count, l.per, l.most, l.more = number(), number(), number(), number()
		end,
		start = function() return {tokens = 0, parts = 0} end,
		pack = pack_level,
		unpack = unpack_level,
		refill = function(s, l, from)
			s.count, s.per = l.count, l.per
			refill_around(s, 0, from)
		end,
		fits = function(s, l, _)
			local spare = s.tokens + l.most
			return l.count > 0 and (spare >= 0 or spare == -1 and s.parts + l.more >= l.per)
		end,
		take = take,
		rest = function(s, l)
			if s.tokens >= 0 then return 0 end
			return time_for(-s.tokens, s.parts, l.count, l.per)
		end,
		used = function(s) return -s.tokens end,
		bottom = function(s, l) return s.tokens + 2 * (l.most + 1) end,
		give = function(s, _, cost)
			s.tokens = s.tokens + cost
			if s.tokens >= 0 then
				s.tokens, s.parts = 0, 0
			end
		end,
		refund = function(s, _, cost, out) refund_up_to(s, -out, cost) end,
		capacity = function(l) return l.most + 1 end,
	}
end

local function window(l)
	l.raw = "0 " .. ARGV[at] .. " " .. ARGV[at + 1]
	l.per, l.most = number(), number()
end

function makers.log()
	return {
		limit = window,
		start = function() return {sum = 0} end,
		pack = function(s) return s end,
		unpack = function(n)
			n.sum = 0
			for i = 2, #n, 2 do n.sum = n.sum + n[i] end
			return n
		end,
		refill = function(s, l)
			local gone = 0
			while s[gone + 1] and now - s[gone + 1] >= l.per do
				s.sum = s.sum - s[gone + 2]
				gone = gone + 2
			end
			if gone > 0 then
				local n = #s
				for i = 1, n do s[i] = s[i + gone] end
			end
		end,
		fits = function(s, l, cost) return cost <= l.most - s.sum end,
		take = function(s, _, cost)
			s.sum = s.sum + cost
			local n = #s
			if n > 0 and s[n - 1] == now then
				s[n] = s[n] + cost
			else
				s[n + 1], s[n + 2] = now, cost
			end
		end,
		rest = function(s, l)
			if #s == 0 then return 0 end
			return l.per - (now - s[#s - 1])
		end,
		used = function(s) return s.sum end,
		bottom = function(s, l) return 2 * l.most - s.sum end,
		give = function(s, _, cost, taken)
			for i = 1, #s, 2 do
				if s[i] == taken then
					local back = min(cost, s[i + 1])
					s.sum, s[i + 1] = s.sum - back, s[i + 1] - back
					if s[i + 1] == 0 then
						table.remove(s, i)
						table.remove(s, i)
					end
					return
				end
			end
		end,
		refund = function(s, _, cost)
			while cost > 0 and #s > 0 do
				local back = min(cost, s[#s])
				s.sum, s[#s], cost = s.sum - back, s[#s] - back, cost - back
				if s[#s] == 0 then s[#s], s[#s - 1] = nil, nil end
			end
		end,
		-- Of the entries it is enough to know which makes room for the cost, and the newest.
		told = function(s, l, cost)
			local n = #s
			if n == 0 then return {} end
			local freed, i = l.most - s.sum, 1
			if cost <= freed or cost > l.most then
				return {s[n - 1], s.sum}
			end
			local sum = 0
			while freed < cost do
				freed, sum = freed + s[i + 1], sum + s[i + 1]
				i = i + 2
			end
			if i > n then return {s[n - 1], sum} end
			return {s[i - 2], sum, s[n - 1], s.sum - sum}
		end,
		capacity = most_of,
	}
end

function makers.counters()
	local counters = {
		limit = window,
		start = function() return {count = 0, before = 0, begun = now} end,
		pack = function(s) return {s.count, s.before, s.begun} end,
		unpack = function(n) return {count = n[1], before = n[2], begun = n[3]} end,
		refill = function(s, l)
			local gone = now - s.begun
			if s.count == 0 and s.before == 0 or gone >= 2 * l.per then
				s.count, s.before, s.begun = 0, 0, now
			elseif gone >= l.per then
				s.before, s.count, s.begun = s.count, 0, s.begun + l.per
				if s.before == 0 then s.begun = now end
			end
		end,
		weight = function(s, l)
			local q, r = divide(s.before, l.per - max(0, now - s.begun), 0, l.per)
			if r > 0 then q = q + 1 end
			return q
		end,
		take = function(s, _, cost) s.count = s.count + cost end,
		rest = function(s, l)
			local left = l.per - max(0, now - s.begun)
			if s.count > 0 then return left + l.per end
			if s.before > 0 then return left end
			return 0
		end,
		bottom = function(s, l) return 2 * l.most - s.count end,
		give = function(s, l, cost, taken)
			if s.begun <= taken then
				s.count = s.count - min(cost, s.count)
			elseif s.begun - taken < l.per then
				s.before = s.before - min(cost, s.before)
			end
		end,
		refund = function(s, _, cost)
			local back = min(cost, s.count)
			s.count = s.count - back
			s.before = s.before - min(cost - back, s.before)
		end,
		capacity = most_of,
	}
	counters.used = function(s, l) return s.count + counters.weight(s, l) end
	counters.fits = function(s, l, cost) return cost <= l.most - counters.used(s, l) end
	return counters
end

-- Windows that count anew at an edge.
local function edged(of)
	of.pack = function(s) return {s.tokens, s.index} end
	of.unpack = function(n) return {tokens = n[1], index = n[2]} end
	of.fits = fits
	of.take = take
	of.used = used
	of.bottom = bottom
	of.capacity = most_of
	of.give = function(s, l, cost, taken)
		if of.begins(s, l, taken) then s.tokens = min(l.most, s.tokens + cost) end
	end
	of.refund = function(s, l, cost)
		if s.tokens < l.most then s.tokens = min(l.most, s.tokens + cost) end
	end
	of.rest = function(s, l)
		if s.tokens >= l.most then return 0 end
		return s.left
	end
	return of
end

-- A state in the window after the one that is now stays there: the clock was set back.
local function roll(s, l, index, left, next_index, next_left)
	if s.index > index and s.index == next_index then
		s.left = next_left
		return
	end
	if s.index < index then s.tokens = l.most end
	s.index, s.left = index, left
end

function makers.fixed()
	return edged({
		limit = window,
		start = function(l) return {tokens = l.most, index = floor(now / l.per), left = l.per - now % l.per} end,
		refill = function(s, l)
			local index, left = floor(now / l.per), l.per - now % l.per
			roll(s, l, index, left, index + 1, left + l.per)
		end,
		begins = function(s, l, taken) return floor(taken / l.per) == s.index end,
	})
end

function makers.first()
	local first = edged({
		limit = window,
		start = function(l) return {tokens = l.most, index = now, left = l.per} end,
		refill = function(s, l)
			s.left = l.per
			if s.tokens >= l.most then return end
			if now - s.index >= l.per then
				s.tokens = l.most
			else
				s.left = l.per - max(0, now - s.index)
			end
		end,
		begins = function(s, _, taken) return s.index <= taken end,
	})
	first.take = function(s, l, cost)
		if cost > 0 and s.tokens >= l.most then s.index = now end
		s.tokens = s.tokens - cost
	end
	return first
end

-- When a chunk ends, in slots, so that there are few.
local function end_of(taken, life) return ceil((taken + life) / SLOT) * SLOT end

local function find(l, instant)
	for i, w in ipairs(l.windows) do
		if w.begin <= instant and instant < w.ends then return w, l.windows[i + 1] end
	end
end

function makers.calendar()
	return edged({
		limit = function(l)
			l.raw = "0 " .. ARGV[at + 1] .. " " .. ARGV[at]
			l.most, l.per, l.windows = number(), number(), {}
			for i = 1, number() do l.windows[i] = {index = number(), begin = number(), ends = number()} end
		end,
		start = function(l)
			local w = find(l, now)
			return {tokens = l.most, index = w.index, left = w.ends - now}
		end,
		refill = function(s, l)
			local w, after = find(l, now)
			if after then
				roll(s, l, w.index, w.ends - now, after.index, after.ends - now)
			else
				roll(s, l, w.index, w.ends - now, nil, nil)
			end
		end,
		begins = function(s, l, taken)
			local w = find(l, taken)
			return w and w.index == s.index
		end,
	})
end

local function text(numbers)
	local all = {}
	for i = 1, #numbers do all[i] = format("%.0f", numbers[i]) end
	return table.concat(all, " ")
end

local function numbers(of)
	local all = {}
	for v in gmatch(of, "%S+") do all[#all + 1] = tonumber(v) end
	return all
end

-- What is stored of a limit: kind, count, per, most, and then the state.
local function store(l, s)
	local n = l.kind.pack(s)
	if #n == 2 then return format("%s %.0f %.0f", l.raw, n[1], n[2]) end
	return l.raw .. " " .. text(n)
end

-- A new state of which so much was used.
local function used_anew(l, used)
	local s = l.kind.start(l)
	used = min(used, l.kind.capacity(l))
	if used > 0 then l.kind.take(s, l, used) end
	return s
end

-- The state of a limit as it was stored, which may have been under other numbers, or for another algorithm.
local function restore(l, stored, from)
	if not stored then return l.kind.start(l) end
	if sub(stored, 1, #l.raw + 1) == l.raw .. " " then
		local a, b = match(stored, "^(%S+) (%S+)$", #l.raw + 2)
		local s = l.kind.unpack(a and {tonumber(a), tonumber(b)} or numbers(sub(stored, #l.raw + 2)))
		l.kind.refill(s, l, from)
		return s
	end
	local name, rest = match(stored, "^(%S+) (.*)$")
	local n = numbers(rest)
	local old = {name = name, kind = kind_of(name), count = n[1], per = n[2], most = n[3], windows = l.windows}
	local state = {}
	for i = 4, #n do state[i - 3] = n[i] end
	local s = old.kind.unpack(state)
	changed = true
	if name == "calendar" and (l.name ~= "calendar" or old.per ~= l.per) then -- its windows are not known here
		return used_anew(l, old.most - s.tokens)
	end
	old.kind.refill(s, old, from)
	if name == l.name and name == "bucket" and s.tokens >= l.most then
		return {tokens = l.most, parts = 0}
	elseif name == l.name and (name == "bucket" or name == "pacer") then
		if old.per ~= l.per then s.parts = (divide(s.parts, l.per, 0, old.per)) end
		return s
	elseif name == "log" and l.name == "log" then
		l.kind.refill(s, l, from)
		return s
	elseif name == l.name and old.per == l.per then
		if s.tokens then s.tokens = s.tokens + l.most - old.most end
		l.kind.refill(s, l, from)
		return s
	end
	return used_anew(l, old.kind.used(s, old))
end

local what, n = ARGV[1], tonumber(ARGV[3])
now = tonumber(ARGV[2])
local own = now == 0
if own then
	local t = call("TIME")
	now = t[1] * 1000000 + t[2]
end

local limits, fields = {}, {"t@", "u@", "o@"}
for i = 1, n do
	local tag, name, cost = next_arg(), next_arg(), number()
	local l = {tag = tag, name = name, cost = cost, kind = kind_of(name), raw = "", count = 0, per = 0, most = 0} -- as large as it will be
	l.kind.limit(l)
	l.raw = name .. " " .. l.raw
	limits[i], fields[i + 3] = l, tag
end
local chunk = 0
local asker, op, below, taken_at -- op is a text
if what == "take" or what == "debit" then
	asker, op, below = "@" .. next_arg(), next_arg(), number()
	if what == "take" then chunk = number() end
	if asker == "@" then asker = nil else fields[n + 4] = asker end
elseif what == "give" then
	taken_at, chunk = number(), number()
end
local stored = redis.pcall("HMGET", KEYS[1], unpack(fields))
if stored.err then -- something else has the name, and would be there for ever
	call("DEL", KEYS[1])
	stored = {}
end
local from = tonumber(stored[1] or "0")
now = max(now, from)
if stored[3] then
	local known = numbers(stored[3])
	for i = 1, #known, 2 do
		if known[i] > from then chunks[#chunks + 1] = {known[i], known[i + 1]} end
	end
	table.sort(chunks, function(a, b) return a[1] < b[1] end)
end
for i = 1, n do
	local l = limits[i]
	if l.windows and not find(l, now) then return {-1, now} end
end

-- What was done for the asker, as text: when last, up to which number everything, and which numbers above that, each between spaces.
local done, list = 0, " "
if asker and stored[n + 4] then
	local up_to, rest = match(stored[n + 4], "^%S+ (%S+)( .*)$")
	done, list = tonumber(up_to), rest
end
local again = asker and (tonumber(op) <= done or string.find(list, " " .. op .. " ", 1, true))
if again and what == "take" then return {-2, now} end
-- What comes back, or is owed, may be by limits that are no more: it goes by those that are.
if what == "debit" or what == "give" then
	for i = 1, n do
		local l = limits[i]
		local name, count, per, most = match(stored[i + 3] or "", "^(%S+) (%S+) (%S+) (%S+) ")
		if name and (name ~= "calendar" or l.windows and tonumber(per) == l.per) then
			l.name, l.kind, l.raw = name, kind_of(name), name .. " " .. count .. " " .. per .. " " .. most
			l.count, l.per, l.most, l.more = tonumber(count), tonumber(per), tonumber(most), l.more or 0
		end
	end
end
local states, admits, spends, out = {}, 1, false, 0
for i = 1, #chunks do
	if chunks[i][1] > now then out = out + chunks[i][2] end
end
for i = 1, n do
	local l = limits[i]
	local s = restore(l, stored[i + 3], from)
	if what == "refund" then l.kind.refund(s, l, l.cost, out) end
	states[i], spends = s, spends or l.cost > 0
	if l.cost > 0 and not l.kind.fits(s, l, l.cost) then admits = 0 end
end

local back -- the chunk that it comes back from
local most = 0 -- of the costs, if a limit flows
for i = 1, n do
	if limits[i].kind.flows then most = max(most, limits[i].cost) end
end
if what == "give" and chunk > 0 then
	local ends = end_of(taken_at, chunk)
	for i = 1, #chunks do
		local c = chunks[i]
		if c[1] == ends and ends > now and c[2] >= most then back = c end
	end
end

local reply = {admits, now}
local last = 0
local fresh = {"t@", format("%.0f", now)}
for i = 1, n do
	local l, s = limits[i], states[i]
	local kind = l.kind
	local told = kind.told and kind.told(s, l, l.cost) or kind.pack(s)
	local at = #reply + 1
	reply[at] = #told
	for j = 1, #told do reply[at + j] = told[j] end
	local taken = 0
	if what == "take" and admits == 1 then
		taken = l.cost
	elseif what == "debit" and not again then
		taken = min(l.cost, kind.bottom(s, l))
	elseif what == "give" and stored[i + 3] and (back or not kind.flows) then
		kind.give(s, l, l.cost, taken_at)
	end
	if taken > 0 then kind.take(s, l, taken) end
	last = max(last, kind.rest(s, l))
	fresh[#fresh + 1], fresh[#fresh + 2] = l.tag, store(l, s)
end
if back then
	back[2] = back[2] - most
elseif what == "take" and admits == 1 and chunk > 0 and most > 0 then
	local ends = end_of(now, chunk)
	local same
	for i = 1, #chunks do
		if chunks[i][1] == ends then same = chunks[i] end
	end
	if same then
		same[2] = same[2] + most
	else
		chunks[#chunks + 1] = {ends, most}
	end
end
if stored[3] or #chunks > 0 then
	local left = {}
	for _, c in ipairs(chunks) do
		if c[1] > now and c[2] > 0 then
			left[#left + 1], left[#left + 2] = c[1], c[2]
			last = max(last, c[1] - now)
		end
	end
	fresh[#fresh + 1], fresh[#fresh + 2] = "o@", text(left)
end
if asker then
	if below > done then
		done = below
		local first, rest = match(list, "^ (%S+)( .*)$")
		while first and tonumber(first) <= done do
			list = rest
			first, rest = match(list, "^ (%S+)( .*)$")
		end
	end
	if what == "debit" or admits == 1 then list = list .. op .. " " end
	fresh[#fresh + 1], fresh[#fresh + 2] = asker, format("%.0f %.0f", now, done) .. list
end
if what == "debit" then
	fresh[#fresh + 1], fresh[#fresh + 2] = "u@", format("%.0f", now + KNOWN)
	last = max(last, KNOWN)
end
last = max(last, tonumber(stored[2] or "0") - now)
if what == "take" and (admits == 1 and spends or stored[1] and changed) or what == "debit" and spends and not again or
	(what == "give" or what == "refund") and stored[1] then
	if last == 0 then
		call("DEL", KEYS[1])
	else
		if asker and stored[1] and not stored[n + 4] then -- he is new: those that have gone are forgotten
			local all = call("HGETALL", KEYS[1])
			for i = 1, #all, 2 do
				if sub(all[i], 1, 1) == "@" and now - numbers(all[i + 1])[1] > GONE then call("HDEL", KEYS[1], all[i]) end
			end
		end
		call("HSET", KEYS[1], unpack(fresh))
		if own then call("PEXPIRE", KEYS[1], format("%.0f", ceil(last / 1000) + 1)) end
	end
end
return reply
