-- Server-side apply load for wrk: changes of a ring of Deployments.
-- wrk -t1 -c16 -d10s -s bench/apply.lua https://HOST:PORT -- NAMESPACE [TOKEN] [OBJECTS] [change|noop]
local ns, token, objects, mode = "bench", nil, 200, "change"
local n, thread_id, next_thread = 0, 0, 0

function setup(thread)
  thread:set("thread_id", next_thread)
  next_thread = next_thread + 1
end

local function manifest(name, i)
  local env = {}
  for e = 1, 6 do
    env[e] = string.format('{"name":"VAR_%d","value":"%d"}', e, mode == "noop" and e or (i + e) % 97)
  end
  return string.format([[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"%s","labels":{"app":"%s","tier":"web","rev":"r%d"}},"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"%s"}},"template":{"metadata":{"labels":{"app":"%s"}},"spec":{"containers":[{"name":"main","image":"registry.example/app:%d","ports":[{"containerPort":8080,"name":"http"},{"containerPort":9090,"name":"metrics"}],"env":[%s],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"memory":"128Mi"}},"readinessProbe":{"httpGet":{"path":"/ready","port":8080}}},{"name":"sidecar","image":"registry.example/proxy:1.2","args":["--level","info"]}],"volumes":[{"name":"config","configMap":{"name":"app"}}]}}}}]],
    name, name, mode == "noop" and 0 or i % 1000, 1 + (mode == "noop" and 0 or i % 5), name, name, mode == "noop" and 1 or i % 1000, table.concat(env, ","))
end

function init(args)
  if args[1] then ns = args[1] end
  if args[2] and args[2] ~= "" then token = args[2] end
  if args[3] then objects = tonumber(args[3]) end
  if args[4] then mode = args[4] end
  wrk.headers["Content-Type"] = "application/apply-patch+yaml"
  if token then wrk.headers["Authorization"] = "Bearer " .. token end
end

function request()
  n = n + 1
  local i = n * 7 + thread_id
  local name = "web-" .. (i % objects)
  return wrk.format("PATCH", "/apis/apps/v1/namespaces/" .. ns .. "/deployments/" .. name .. "?fieldManager=m1&force=true", nil, manifest(name, i))
end

local bad = 0
function response(status)
  if status >= 300 then bad = bad + 1 end
end

function done(summary, latency)
  io.write(string.format("requests %d, errors %d, p50 %.2f ms, p99 %.2f ms, %.0f requests/s\n",
    summary.requests, summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.requests / (summary.duration / 1e6)))
end
