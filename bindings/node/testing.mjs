// The same classes for import.
import testing from "./testing.cjs";

export const { TestServer, TestEnvironment, useTestServer } = testing;
export default testing;
