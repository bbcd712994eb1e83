// The same objects for import.
import tenure from "./index.cjs";

export const {
  apply,
  update,
  blame,
  why,
  plan,
  patch,
  fields,
  Types,
  version,
  kubernetesVersion,
  Conflict,
  InternalError,
  InvalidArgument,
  InvalidObject,
  PatchError,
  ServerError,
  TenureError,
  TestFailed,
  TooLarge,
  UnknownKind,
} = tenure;
export default tenure;
