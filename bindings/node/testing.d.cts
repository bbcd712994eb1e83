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

/** Where the server of a test listens for webhooks, and its certificate. */
export interface WebhookServing {
  host: string;
  port: number;
  caPem: string;
  certPem: string;
  keyPem: string;
  certDir: string;
  certPath: string;
  keyPath: string;
  /** The webhook configurations that were installed. */
  configurationNames: string[];
}

/** What clients of an environment need. The server speaks plain HTTP on a loopback address and takes everybody for the administrator. */
export interface EnvtestConfig {
  server: string;
  kubeconfigPath: string;
  kubeconfigYaml: string;
  user: string;
  apiServerPort: number;
  installedCRDs: string[];
  webhook?: WebhookServing;
}

export interface InstallCRDsOptions {
  /** Definitions besides those of files. */
  crds?: Document[];
  errorIfPathMissing?: boolean;
  establishTimeoutMs?: number;
  pollIntervalMs?: number;
  /** Where conversion webhooks are called; the environment's own by default. */
  conversionWebhook?: Pick<WebhookServing, "host" | "port" | "caPem">;
}

export interface TestEnvironmentOptions extends Omit<StartOptions, "crds" | "port"> {
  crdDirectoryPaths?: string[];
  crds?: Document[];
  crdInstallOptions?: InstallCRDsOptions;
  /** Calls webhooks at the server of the test. */
  webhookInstallOptions?: { paths: string[]; localServingHost?: string; localServingPort?: number };
  securePort?: number;
  /** The version of Kubernetes, such as `1.36` or `v1.36.2`. */
  version?: string;
  /** Options about programs, such as `attachOutput`, have no effect; flags are refused. */
  [other: string]: unknown;
}

/** Shaped like the class of envtest-js, which starts a kube-apiserver: suites written for it change one import. */
export class TestEnvironment {
  constructor(options?: TestEnvironmentOptions);
  start(): Promise<EnvtestConfig>;
  stop(): Promise<void>;
  readonly config: EnvtestConfig;
  readonly kubeconfigPath: string;
  readonly url: string;
  /** The server, for forks, faults and the clock; undefined unless the environment is started. */
  readonly testServer?: TestServer;
  installCRDs(paths: string[], options?: InstallCRDsOptions): Promise<string[]>;
  uninstallCRDs(paths: string[], options?: Pick<InstallCRDsOptions, "crds" | "errorIfPathMissing">): Promise<string[]>;
  waitForWebhookServer(timeoutMs?: number): Promise<void>;
}

export function restRequest(config: { server: string }, method: string, path: string, body?: unknown): Promise<{ status: number; text: string; json?: any }>;
/** Throws if the request is refused. */
export function restRequestOk(config: { server: string }, method: string, path: string, body?: unknown): Promise<{ status: number; text: string; json?: any }>;
export function installCRDs(config: EnvtestConfig, paths: string[], options?: InstallCRDsOptions): Promise<string[]>;
export function uninstallCRDs(config: EnvtestConfig, paths: string[], options?: Pick<InstallCRDsOptions, "crds" | "errorIfPathMissing">): Promise<string[]>;
export function waitForWebhookServer(host: string, port: number, options?: { timeoutMs?: number; caPem?: string }): Promise<void>;
/** A `globalSetup` of vitest: one environment for all workers, which `inject("envtest")` its configuration. */
export function createVitestGlobalSetup(
  options?: TestEnvironmentOptions,
): (project: { provide(key: any, value: any): void }) => Promise<() => Promise<void>>;

type Hook = (work: () => Promise<void>) => unknown;

/** Starts a server before the tests of a file and forks it before each test. */
export function useTestServer(
  options?: StartOptions,
  hooks?: { before?: Hook; beforeAll?: Hook; beforeEach?: Hook; afterEach?: Hook; after?: Hook; afterAll?: Hook },
): { readonly server: TestServer };
