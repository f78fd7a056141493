/** Exit code of a check that cannot run here; scripts/cluster.mjs knows it. */
const skipped = 77

/** Ends this program: a requirement is missing on this machine. */
export function skip(because: string): never {
  console.log(because)
  process.exit(skipped)
}
