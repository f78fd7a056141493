/** How a program of a check says that it cannot run here; scripts/cluster.mjs knows it. */
const skipped = 77

/** Ends this program: what it needs is not on this machine. */
export function skip(because: string): never {
  console.log(because)
  process.exit(skipped)
}
