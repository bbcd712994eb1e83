// Requests to the endpoints of the page. A session that has ended and a connection that is lost are events, which the frame of the
// page shows in one place.

const ROOT = "/ui/api/";
const HEADERS = { "tenure-page": "1", "content-type": "application/json" };

/** Reports "expired" sessions, and a "lost" and "restored" connection. */
export const connection = new EventTarget();

let lost = false;

function setLost(now) {
  if (lost === now) return;
  lost = now;
  connection.dispatchEvent(new Event(now ? "lost" : "restored"));
}

/** A request that failed, with the status code and a message for people. */
export class ApiError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Returns the context that the address names; empty for that of the page. */
export const context = () => new URLSearchParams(location.search).get("context") ?? "";

function address(path, query) {
  const parameters = new URLSearchParams();
  if (context()) parameters.set("context", context());
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, value);
  }
  const text = parameters.toString();
  return ROOT + path + (text ? "?" + text : "");
}

async function send(method, path, { query, body, signal } = {}) {
  let response;
  try {
    response = await fetch(address(path, query), {
      method, signal, headers: HEADERS, cache: "no-store", credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    setLost(true);
    throw new ApiError(0, "the page has lost its connection");
  }
  setLost(false);
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  fail(response.status, answer.error ?? response.statusText, path);
}

function fail(code, message, path) {
  if (code === 401 && path !== "session") connection.dispatchEvent(new Event("expired"));
  throw new ApiError(code, message);
}

export const get = async (path, query, signal) => (await send("GET", path, { query, signal })).json();
export const post = async (path, body, signal) => (await send("POST", path, { body, signal })).json();
export const signOut = () => send("DELETE", "session");

/** Reads a stream of JSON lines until it ends. */
async function lines(path, query, signal, onLine) {
  const response = await send("GET", path, { query, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    let rest = value;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      parts.push(rest.slice(0, end));
      const line = JSON.parse(parts.join(""));
      parts = [];
      rest = rest.slice(end + 1);
      if (line.type === "error") fail(line.code, line.error, path);
      onLine(line);
    }
    parts.push(rest);
  }
}

// How long a hidden tab keeps its stream. Browsers allow six connections to a server, for all tabs together.
const HIDDEN_MILLISECONDS = 20_000;

/** Waits until the tab is visible. */
const seen = () => new Promise((resolve) => {
  const check = () => {
    if (document.hidden) return;
    document.removeEventListener("visibilitychange", check);
    resolve();
  };
  document.addEventListener("visibilitychange", check);
  check();
});

/** Aborts a controller when the tab was hidden for some time; returns how to stop that. */
function pauseWhenHidden(controller) {
  let timer;
  const check = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => controller.abort(), HIDDEN_MILLISECONDS);
  };
  document.addEventListener("visibilitychange", check);
  check();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", check);
  };
}

/** Follows a stream, and starts again when it breaks or the tab is visible again, until the signal ends it. Errors that trying again cannot resolve are thrown. */
export async function follow(path, query, signal, onLine) {
  let pause = 250;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener("abort", stop);
    const release = pauseWhenHidden(attempt);
    try {
      await lines(path, query, attempt.signal, (line) => {
        pause = 250;
        onLine(line);
      });
    } catch (error) {
      if (signal.aborted) return;
      if (!attempt.signal.aborted) {
        if (error instanceof ApiError && error.code !== 0 && error.code !== 502 && error.code !== 503) throw error;
        setLost(true);
      }
    } finally {
      release();
      signal.removeEventListener("abort", stop);
    }
    await seen();
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 5000);
  }
}

/** Reads a stream that has an end. */
export async function once(path, query, signal, onLine) {
  try {
    await lines(path, query, signal, onLine);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
