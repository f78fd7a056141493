/** Runs the program with the arguments after its name; returns the exit code. */
export async function main(_argv: readonly string[]): Promise<number> {
  process.stderr.write('not built yet\n')
  return 0
}
