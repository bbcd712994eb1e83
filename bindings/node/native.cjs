// Finds the compiled part of the package: beside this file, or in the package of the platform.
"use strict";

function platform() {
  const { platform, arch } = process;
  const suffix = platform === "linux" ? "-gnu" : "";
  return `${platform}-${arch}${suffix}`;
}

function load() {
  const name = platform();
  const tried = [];
  for (const place of [`./tenure.${name}.node`, `tenure-${name}`]) {
    try {
      return require(place);
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
      tried.push(place);
    }
  }
  throw new Error(
    `tenure has no compiled part for ${name} (tried ${tried.join(" and ")}); install without --omit=optional, ` +
      "on Linux with glibc or macOS, on x64 or arm64",
  );
}

module.exports = load();
