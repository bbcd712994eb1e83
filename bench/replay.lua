-- Repeats prepared requests with wrk, which costs the client next to nothing:
--   wrk -t1 -c16 -d8s -s bench/replay.lua https://HOST:PORT -- FILE
-- FILE has whole HTTP requests, each after a line with its length in bytes. "@@@@@@@@" in a request becomes a number of eight digits that
-- no other request of the run has. Prints requests, failed ones, seconds, and the 99th percentile of latency in microseconds.
local requests, unique, n = {}, {}, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for length in file:lines() do
    local text = file:read(tonumber(length))
    requests[#requests + 1] = text
    unique[#requests] = text:find("@@@@@@@@", 1, true) ~= nil
  end
  file:close()
end

function request()
  n = n + 1
  local at = (n - 1) % #requests + 1
  if unique[at] then return (requests[at]:gsub("@@@@@@@@", string.format("%08d", n))) end
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("%d %d %.6f %.0f\n", summary.requests, errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, latency:percentile(99)))
end
