// Times strategic merge patches of the large Deployment in Node: `tenure` on objects, and what reading and writing JSON alone take.
// Prints the least time of each, in microseconds. Run it where `tenure` is installed, with the folder of the repository:
//
//   cd target/bindings/npm/project && cp ../../../../bench/bindings/strategic_merge.mjs . && node strategic_merge.mjs ../../../..
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { patch } from "tenure";

const inputs = join(process.argv[2] ?? ".", "bench/inputs/smp");
const [text, changeText] = ["original", "patch"].map((name) => readFileSync(join(inputs, `deployment-big.${name}.json`), "utf8"));
const [live, change] = [text, changeText].map((text) => JSON.parse(text));

function least(work) {
  const end = performance.now() + 2000;
  let best = Infinity;
  while (performance.now() < end) {
    const began = performance.now();
    work();
    best = Math.min(best, performance.now() - began);
  }
  return Math.round(best * 1000);
}

console.log(`${text.length} bytes, patch of ${changeText.length}`);
for (const [name, work] of [
  ["patch.strategicMerge on objects", () => patch.strategicMerge(live, change)],
  ["JSON.stringify and JSON.parse of both documents alone", () => [live, change].map((document) => JSON.parse(JSON.stringify(document)))],
  ["patch.strategicMerge, parse and print in JavaScript", () => JSON.stringify(patch.strategicMerge(JSON.parse(text), JSON.parse(changeText)))],
]) {
  console.log(`${String(least(work)).padStart(10)} µs  ${name}`);
}
