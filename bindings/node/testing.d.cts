import type { Compatibility, Document } from "./index.cjs";

export interface StartOptions {
  /** Files and directories with definitions. */
  crds?: string | string[];
  /** Files and directories with manifests, which are applied. */
  manifests?: string | string[];
  objects?: Document[];
  /** Makes uids, generated names and times repeat, and stops the clock. */
  seed?: number;
  compatibility?: Compatibility;
  /** Allows every request instead of asking RBAC. */
  alwaysAllow?: boolean;
  /** Creates the service account `default` in every namespace. */
  serviceAccounts?: boolean;
  port?: number;
}

export interface Fault {
  hits(): number;
  remove(): void;
}

/** Which requests a fault happens to, and how often; with `time`, `retryAfter`, `afterEvents` and `revision` for some effects. */
export interface FaultOptions {
  verb?: string | string[];
  kind?: string;
  namespace?: string;
  name?: string;
  manager?: string;
  times?: number;
  [detail: string]: unknown;
}

export interface Snapshot {}

/** A control plane in this process, on a loopback socket. */
export class TestServer {
  private constructor();
  static start(options?: StartOptions): Promise<TestServer>;
  stop(): Promise<void>;
  readonly url: string;
  /** The path of a kubeconfig, which lasts as long as the server. */
  readonly kubeconfig: string;
  readonly revision: number;
  readonly now: string;
  fork(): Promise<TestServer>;
  at(revision: number): Promise<TestServer>;
  snapshot(): Snapshot;
  restore(snapshot: Snapshot): void;
  advance(seconds: number): void;
  stopClock(): void;
  settle(): Promise<void>;
  inject(effect: string, where?: FaultOptions): Fault;
  clearFaults(): void;
  apply(object: Document, options?: { manager?: string }): Promise<Document>;
  load(objects: Document[]): Promise<string[]>;
  writes(since?: number): Document[];
  fights(since?: number): Document[];
  /** A KubeConfig of `@kubernetes/client-node`, which must be installed. */
  kubeConfig(): Promise<any>;
  /** Runs kubectl; the last argument may be `{ input }`. */
  kubectl(...args: (string | { input?: string })[]): Promise<string>;
}

export class TestEnvironment {
  constructor(options?: Omit<StartOptions, "crds"> & { crdDirectoryPaths?: string[] });
  start(): Promise<this>;
  stop(): Promise<void>;
  readonly kubeconfigPath: string;
  readonly url: string;
}

type Hook = (work: () => Promise<void>) => unknown;

/** Starts a server before the tests of a file and forks it before each test. */
export function useTestServer(
  options?: StartOptions,
  hooks?: { before?: Hook; beforeAll?: Hook; beforeEach?: Hook; afterEach?: Hook; after?: Hook; afterAll?: Hook },
): { readonly server: TestServer };
