// The engines on plain objects.
"use strict";

const native = require("./native.cjs");
const { read, written, writtenArguments } = require("./documents.cjs");
const { errors, guarded } = require("./errors.cjs");

/** The types of CustomResourceDefinitions and OpenAPI documents, and the built-in ones. */
class Types {
  constructor(...documents) {
    const text = written("schema", documents.flat());
    this.native = guarded(() => native.NativeTypes.ofDocuments(text));
  }

  static ofSchema(schema) {
    const types = Object.create(Types.prototype);
    const text = written("schema", schema);
    types.native = guarded(() => native.NativeTypes.ofSchema(text));
    return types;
  }

  kinds() {
    return guarded(() => this.native.kinds());
  }
}

function compiled(schema) {
  if (schema === undefined || schema === null) return undefined;
  return (schema instanceof Types ? schema : new Types(schema)).native;
}

function invoke(name, given, schema) {
  const [text, types] = [writtenArguments(given), compiled(schema)];
  return read(guarded(() => native.invoke(name, text, types)));
}

// A moment: RFC 3339 text, or a Date.
function moment(time) {
  return time instanceof Date ? time.toISOString().replace(/\.[0-9]+Z$/, "Z") : time;
}

function apply(live, config, manager, { force, forcePaths, subresource, time, schema, compatibility } = {}) {
  const given = { live, config, manager, force, force_paths: forcePaths, subresource, time: moment(time), compatibility };
  return invoke("apply", given, schema);
}

function update(live, object, manager, { subresource, time, schema, compatibility } = {}) {
  return invoke("update", { live, object, manager, subresource, time: moment(time), compatibility }, schema);
}

function blame(live, { schema } = {}) {
  return invoke("blame", { live }, schema);
}

function why(live, path, { time, schema, compatibility } = {}) {
  return invoke("why", { live, path, time: moment(time), compatibility }, schema);
}

function plan(live, config, manager, { force, forcePaths, time, schema, compatibility } = {}) {
  const given = { live, config, manager, force, force_paths: forcePaths, time: moment(time), compatibility };
  return invoke("plan", given, schema);
}

const patch = {
  strategicMerge(live, patch, { kind, schema, order, compatibility } = {}) {
    return invoke("patch.strategic_merge", { live, patch, kind, order, compatibility }, schema);
  },
  twoWay(original, modified, { kind, schema, keys, compatibility } = {}) {
    return invoke("patch.two_way", { original, modified, kind, keys, compatibility }, schema);
  },
  threeWay(modified, live, { lastApplied, overwrite, kind, schema, keys, compatibility } = {}) {
    const given = { last_applied: lastApplied, modified, live, overwrite, kind, keys, compatibility };
    return invoke("patch.three_way", given, schema);
  },
  jsonMerge(live, patch, { dialect } = {}) {
    return invoke("patch.json_merge", { live, patch, dialect });
  },
  jsonPatch(live, operations, { dialect } = {}) {
    return invoke("patch.json_patch", { live, operations, dialect });
  },
  jsonMergeDiff(original, modified) {
    return invoke("patch.json_merge_diff", { original, modified });
  },
  jsonPatchDiff(original, modified) {
    return invoke("patch.json_patch_diff", { original, modified });
  },
  lint(document, { manifest, kind, schema } = {}) {
    return invoke("patch.lint", { document, manifest, kind }, schema);
  },
};

const fields = {
  encode(fields, form) {
    const encoded = invoke("fields.encode", { fields, form });
    return encoded.base64 === undefined ? encoded.text : Buffer.from(encoded.base64, "base64");
  },
  decode(data) {
    const given = typeof data === "string" ? { text: data } : { base64: Buffer.from(data).toString("base64") };
    return invoke("fields.decode", given);
  },
  paths: (fields) => invoke("fields.paths", { fields }),
  fromPaths: (paths) => invoke("fields.from_paths", { paths }),
  compact: (managedFields) => invoke("fields.compact", { managed_fields: managedFields }),
  expand: (managedFields) => invoke("fields.expand", { managed_fields: managedFields }),
};

const [version, kubernetesVersion] = native.versions();

module.exports = { apply, update, blame, why, plan, patch, fields, Types, version, kubernetesVersion, ...errors };
