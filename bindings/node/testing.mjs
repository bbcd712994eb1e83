// The same classes for import.
import testing from "./testing.cjs";

export const { TestServer, TestEnvironment, createVitestGlobalSetup, installCRDs, restRequest, restRequestOk, uninstallCRDs, useTestServer, waitForWebhookServer } =
  testing;
export default testing;
