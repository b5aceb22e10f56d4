-- wrk URL -- METHOD PATH COUNT BODY: sends PATH and BODY with {n} replaced by 0 to COUNT - 1, in turn, and tells in the
-- last line of its output what load.py reads.

local requests, last = {}, 0

function init(args)
   local body = args[4]
   if body == "" then body = nil else wrk.headers["Content-Type"] = "application/json" end
   for n = 0, args[3] - 1 do
      requests[n + 1] = wrk.format(args[1], (args[2]:gsub("{n}", n)), nil, body and (body:gsub("{n}", n)))
   end
end

function request()
   last = last % #requests + 1
   return requests[last]
end

function done(summary, latency)
   local e = summary.errors
   io.write(string.format(
      '{"requests": %d, "microseconds": %d, "p99_microseconds": %d, "failed": %d}\n',
      summary.requests, summary.duration, latency:percentile(99),
      e.connect + e.read + e.write + e.status + e.timeout))
end
