// Uses of the package that TypeScript accepts; it is checked, not run.
import { Conflict, apply, fields, patch } from "tenure";
import { TestEnvironment, TestServer } from "tenure/testing";

export function contested(live: object): string[] {
  try {
    return [String(apply({ ...live }, {}, "me", { forcePaths: [".data"] }).changed)];
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    return error.conflicts.map((field) => `${field.path}: ${field.owners.map((owner) => owner.manager).join()}`);
  }
}

export async function served(): Promise<string> {
  const environment = await new TestEnvironment({ crdDirectoryPaths: ["crds"] }).start();
  const server = await TestServer.start({ seed: 1 });
  server.inject("conflict", { times: 1 }).remove();
  return environment.kubeconfigPath + (await server.kubectl("apply", "-f", "-", { input: "{}" }));
}

const bytes: Uint8Array = fields.encode({});
const text: string = fields.encode({}, "nested-lists");
export const findings = [patch.lint({}, { kind: "Pod" })[0]?.fix, bytes.length, text];
