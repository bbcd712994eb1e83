// Compares the owners of lines with those that are expected: a file with a list of objects, each with its lines and their owners.

import { readFileSync } from "node:fs";
import { blame, operation } from "../owners/owners.js";

const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
const differences = [];
for (const { object, lines } of cases) {
  const shown = blame(object);
  const owners = (line) => line.owners.map((number) => `${shown.owners[number].manager} ${operation(shown.owners[number])}`).sort().join(", ");
  const found = shown.lines.map((line) => ({ text: line.text, owners: owners(line) }));
  const length = Math.max(found.length, lines.length);
  for (let at = 0; at < length; at += 1) {
    if (found[at]?.text === lines[at]?.text && found[at]?.owners === lines[at]?.owners) continue;
    differences.push(`${object.kind} ${object.metadata.name}, line ${at + 1}: expected ${JSON.stringify(lines[at])}, found ${JSON.stringify(found[at])}`);
  }
}
console.log(`${cases.length} objects, ${differences.length} lines differ`);
for (const difference of differences.slice(0, 20)) console.log(difference);
process.exitCode = differences.length > 0 ? 1 : 0;
