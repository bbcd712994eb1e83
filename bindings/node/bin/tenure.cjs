#!/usr/bin/env node
// The program `tenure`: the same Rust code as the binary, in this process.
"use strict";

const native = require("../native.cjs");

native.run([process.argv[1], ...process.argv.slice(2)]).then(
  (code) => process.exit(code),
  (error) => {
    console.error(error.message);
    process.exit(1);
  },
);
