/** A process that waits for all its descendants, by `prctl`: bubblewrap does not wait for the command itself. */
const number = { x64: 157, arm64: 167 }[process.arch]
const setChildSubreaper = 36
const script = `syscall(${number}, ${setChildSubreaper}, 1, 0, 0, 0); my $status = system { $ARGV[0] } @ARGV; 1 while wait() != -1; exit($status >> 8)`

/**
 * A command whose CPU time, including that of its children, is reported to its parent. Adds the start of perl.
 * @param {string} file @param {readonly string[]} args
 */
export function reaped(file, args) {
  if (number === undefined) throw new Error(`not known on ${process.arch}`)
  return { file: 'perl', args: ['-e', script, file, ...args] }
}
