-- wrk URL -- FILE: sends the requests of FILE in turn, each with its length in bytes in a line before it, and tells in the
-- last line of its output what workers.py reads.

local requests, last = {}, 0

function init(args)
   local file = io.open(args[1], "rb")
   for length in file:lines() do requests[#requests + 1] = file:read(tonumber(length)) end
   file:close()
end

function request()
   last = last % #requests + 1
   return requests[last]
end

function done(summary, latency)
   local e = summary.errors
   io.write(string.format(
      '{"requests": %d, "microseconds": %d, "failed": %d}\n',
      summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
