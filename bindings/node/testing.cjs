// A control plane inside a test: the Kubernetes API on a loopback socket, in this process.
"use strict";

const { execFile } = require("node:child_process");
const native = require("./native.cjs");
const { read, written, writtenArguments } = require("./documents.cjs");
const { guarded, guardedLater } = require("./errors.cjs");

function listed(paths) {
  if (paths === undefined || paths === null) return [];
  return Array.isArray(paths) ? paths.map(String) : [String(paths)];
}

class TestServer {
  /** Use `TestServer.start`. */
  constructor(server) {
    this.native = server;
  }

  static async start({ crds, manifests, objects, seed, compatibility, alwaysAllow, serviceAccounts, port } = {}) {
    const text = writtenArguments({
      manifests: [...listed(crds), ...listed(manifests)],
      objects,
      seed,
      compatibility,
      always_allow: alwaysAllow,
      service_accounts: serviceAccounts,
      port,
    });
    return new TestServer(await guardedLater(() => native.NativeServer.start(text)));
  }

  async stop() {
    await guardedLater(() => this.native.stop());
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.stop();
  }

  get url() {
    return guarded(() => this.native.url());
  }

  get kubeconfig() {
    return guarded(() => this.native.kubeconfig());
  }

  get revision() {
    return guarded(() => this.native.revision());
  }

  get now() {
    return guarded(() => this.native.now());
  }

  async fork() {
    return new TestServer(await guardedLater(() => this.native.fork()));
  }

  async at(revision) {
    return new TestServer(await guardedLater(() => this.native.at(revision)));
  }

  snapshot() {
    return guarded(() => this.native.snapshot());
  }

  restore(snapshot) {
    guarded(() => this.native.restore(snapshot));
  }

  advance(seconds) {
    guarded(() => this.native.advance(seconds));
  }

  stopClock() {
    guarded(() => this.native.stopClock());
  }

  async settle() {
    await guardedLater(() => this.native.settle());
  }

  inject(effect, where = {}) {
    const text = writtenArguments({ effect, ...where });
    return guarded(() => this.native.inject(text));
  }

  clearFaults() {
    guarded(() => this.native.clearFaults());
  }

  async apply(object, { manager = "tenure-testing" } = {}) {
    const text = written("object", object);
    return read(await guardedLater(() => this.native.apply(text, manager)));
  }

  async load(objects) {
    const text = written("objects", objects);
    return guardedLater(() => this.native.load(text));
  }

  writes(since = 0) {
    return read(guarded(() => this.native.writesSince(since)));
  }

  fights(since = 0) {
    return read(guarded(() => this.native.fightsSince(since)));
  }

  /** Returns a KubeConfig of `@kubernetes/client-node`, which must be installed. */
  async kubeConfig() {
    const { KubeConfig } = await import("@kubernetes/client-node");
    const config = new KubeConfig();
    // The client takes plain HTTP only if it is told not to check certificates.
    const cluster = { name: "tenure", server: this.url, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: "tenure" });
    return config;
  }

  /** Runs the kubectl of the PATH against this server and resolves to what it prints. */
  kubectl(...args) {
    const last = args[args.length - 1];
    const { input } = typeof last === "object" && last !== null ? args.pop() : {};
    const env = { ...process.env, KUBECONFIG: this.kubeconfig };
    return new Promise((resolve, reject) => {
      const child = execFile("kubectl", args, { env, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
        if (error) reject(Object.assign(error, { stdout, stderr }));
        else resolve(stdout);
      });
      child.stdin.end(input ?? "");
    });
  }
}

/**
 * Starts a server before the tests of a file, forks it before each test and stops all of them; the result's `server` is that of the test.
 * Hooks are those of the runner: the globals of jest and vitest, or `{ before, after, beforeEach, afterEach }` of node:test.
 */
function useTestServer(options = {}, hooks = {}) {
  const find = (...names) => {
    const found = names.map((name) => hooks[name] ?? globalThis[name]).find((hook) => typeof hook === "function");
    if (!found) throw new Error(`no hook ${names[0]}; pass the hooks of your runner, such as import * as hooks from "node:test"`);
    return found;
  };
  const state = { base: undefined, server: undefined };
  find("beforeAll", "before")(async () => {
    state.base = await TestServer.start(options);
  });
  find("beforeEach")(async () => {
    state.server = await state.base.fork();
  });
  find("afterEach")(async () => {
    await state.server?.stop();
    state.server = undefined;
  });
  find("afterAll", "after")(async () => {
    await state.base?.stop();
  });
  return state;
}

module.exports = { TestServer, useTestServer, ...require("./environment.cjs")(TestServer) };
