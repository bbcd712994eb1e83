/** A document: what `JSON.parse` returns for an object, with BigInt for integers that numbers do not hold. */
export type Document = { [name: string]: any };
/** `kubernetes` or `tenure`, and single improvements after a plus, as in `kubernetes+ClientMergeKeys`. */
export type Compatibility = string;
/** Types besides the built-in ones: a CustomResourceDefinition, an OpenAPI document, a list of them, or compiled ones. */
export type Schema = Types | Document | Document[] | null;

/** A field manager that owns a field. */
export interface Owner {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  subresource?: string;
  time?: string;
}

/** A field that a write would change against somebody's will. */
export interface ContestedField {
  path: string;
  /** The live value; null if there is none. */
  live: any;
  /** The value that the write would set; null if it would remove the field. */
  proposed: any;
  /** Who owns the field. Empty for a patch, which knows no owners. */
  owners: Owner[];
}

/** The result of a write: the object with its managedFields, before defaults and validation. */
export interface Applied {
  object: Document;
  changed: boolean;
}

/** What would be refused, ignored or understood otherwise than its author may think. */
export interface Finding {
  path: string;
  problem: string;
  fix: string;
}

export interface Typed {
  schema?: Schema;
  compatibility?: Compatibility;
}
export interface WriteOptions extends Typed {
  subresource?: string;
  time?: string | Date;
}
export interface ApplyOptions extends WriteOptions {
  /** Takes all contested fields. */
  force?: boolean;
  /** Takes contested fields at and below these paths, such as `.spec.replicas`. */
  forcePaths?: string[];
}

/** Server-side apply; throws a `Conflict` if others own fields that would change. Without a live object it is created. */
export function apply(live: Document | null, config: Document, manager: string, options?: ApplyOptions): Applied;
/** Writes a whole object, as PUT does: the manager owns what it changes. */
export function update(live: Document | null, object: Document, manager: string, options?: WriteOptions): Applied;
/** The owners of every field. */
export function blame(live: Document, options?: { schema?: Schema }): Document;
/** One field: owners, merge rules, and what each kind of write would do. */
export function why(live: Document, path: string, options?: Typed & { time?: string | Date }): Document;
/** What an apply would change, take and conflict with. */
export function plan(
  live: Document | null,
  config: Document,
  manager: string,
  options?: Typed & { force?: boolean; forcePaths?: string[]; time?: string | Date },
): Document;

export interface PatchOptions extends Typed {
  /** The kind of the documents where they do not say it, such as `Deployment` or `apps/v1/Deployment`. */
  kind?: string;
}
export type Dialect = "kubernetes" | "standard";
export type Keys = "merge" | "recommended";

export const patch: {
  strategicMerge(live: Document, patch: Document, options?: PatchOptions & { order?: "kubernetes" | "documented" }): Document;
  twoWay(original: Document, modified: Document, options?: PatchOptions & { keys?: Keys }): Document;
  threeWay(
    modified: Document,
    live: Document,
    options?: PatchOptions & { lastApplied?: Document; overwrite?: boolean; keys?: Keys },
  ): Document;
  jsonMerge(live: any, patch: any, options?: { dialect?: Dialect }): any;
  jsonPatch(live: any, operations: Document[], options?: { dialect?: Dialect }): any;
  jsonMergeDiff(original: any, modified: any): any;
  jsonPatchDiff(original: any, modified: any): Document[];
  lint(document: Document, options?: { manifest?: boolean; kind?: string; schema?: Schema }): Finding[];
};

export const fields: {
  /** Encodes a set, a list of managers, or those of an object. `binary` gives bytes, all other forms text. */
  encode(fields: Document | Document[], form?: "binary"): Uint8Array;
  encode(fields: Document | Document[], form: "fields-v1" | "nested-lists" | "string-table"): string;
  decode(data: Uint8Array | string): any;
  paths(fields: Document): string[];
  fromPaths(paths: string[]): Document;
  compact(managedFields: Document[]): Document[];
  expand(managedFields: Document[]): Document[];
};

export class Types {
  constructor(...documents: (Document | Document[])[]);
  /** Types with which every document is of one OpenAPI schema. */
  static ofSchema(schema: Document): Types;
  kinds(): string[];
}

export const version: string;
export const kubernetesVersion: string;

export class TenureError extends Error {
  /** The part that is wrong; empty if it is the whole or not known. */
  readonly path: string;
  /** The contested fields, if this is a conflict. */
  readonly conflicts: ContestedField[];
}
export class Conflict extends TenureError {}
export class PatchError extends TenureError {}
export class TestFailed extends PatchError {}
export class InvalidObject extends TenureError {}
export class UnknownKind extends TenureError {}
export class InvalidArgument extends TenureError {}
export class TooLarge extends TenureError {}
export class ServerError extends TenureError {}
export class InternalError extends TenureError {}
