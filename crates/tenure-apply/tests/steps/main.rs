//! The effect of every kind of write on an object and its managers, as stories: a list of writes, and the
//! expected final state.

mod better;
mod lists;
mod managers;
mod merging;
mod story;
mod tools;
mod versions;

/// A `spec` with one part of every topology.
const SPEC: &str = "
type: object
properties:
  a: {type: string}
  b: {type: string}
  num: {type: integer}
  flag: {type: boolean}
  struct: {type: object, nullable: true, properties: {x: {type: string}, w: {type: string}}}
  whole: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
  map: {type: object, additionalProperties: {type: string}}
  atoms: {type: array, items: {type: string}}
  set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
  free: {x-kubernetes-preserve-unknown-fields: true}
  items:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      required: [name]
      properties: {name: {type: string}, value: {type: string}, more: {type: object, properties: {deep: {type: string}}}}
  hooks:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      required: [name, target]
      properties: {name: {type: string}, target: {type: string}, policy: {type: string}}
  ports:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [port, proto]
    items:
      type: object
      required: [port]
      properties: {port: {type: integer}, proto: {type: string, default: TCP}, note: {type: string}}
";
