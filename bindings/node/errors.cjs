// The exceptions of tenure. What is no document at all is a TypeError or a RangeError instead, with its path.
"use strict";

class TenureError extends Error {
  constructor({ message, path, conflicts }) {
    super(message);
    this.name = new.target.name;
    /** The part that is wrong, such as ".spec.containers[0]"; empty if it is the whole or not known. */
    this.path = path;
    /** The fields that are contested, if this is a conflict. */
    this.conflicts = conflicts;
  }
}

class Conflict extends TenureError {}
class PatchError extends TenureError {}
class TestFailed extends PatchError {}
class InvalidObject extends TenureError {}
class UnknownKind extends TenureError {}
class InvalidArgument extends TenureError {}
class TooLarge extends TenureError {}
class ServerError extends TenureError {}
class InternalError extends TenureError {}

const CLASSES = {
  Conflict,
  Patch: PatchError,
  TestFailed,
  InvalidObject,
  UnknownKind,
  Argument: InvalidArgument,
  TooLarge,
  Server: ServerError,
  Internal: InternalError,
};

// Returns the exception of an error of the compiled part, whose message is a document.
function translated(error) {
  let document;
  try {
    document = JSON.parse(error.message);
  } catch {
    return error;
  }
  const kind = CLASSES[document?.kind];
  return kind ? new kind(document) : error;
}

// Calls the compiled part.
function guarded(work) {
  try {
    return work();
  } catch (error) {
    throw translated(error);
  }
}

// Waits for the compiled part.
async function guardedLater(work) {
  try {
    return await work();
  } catch (error) {
    throw translated(error);
  }
}

module.exports = {
  errors: { Conflict, InternalError, InvalidArgument, InvalidObject, PatchError, ServerError, TenureError, TestFailed, TooLarge, UnknownKind },
  guarded,
  guardedLater,
};
