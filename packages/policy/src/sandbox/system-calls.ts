/** Numbers of prctl, capset, seccomp and openat. Those of Landlock are the same everywhere. */
const numbers: Readonly<Record<string, readonly [prctl: number, capset: number, seccomp: number, openat: number]>> = {
  x64: [157, 126, 317, 257],
  arm64: [167, 91, 277, 56],
}

/** Undefined where this program knows no numbers of system calls: commands are not confined by Landlock there. */
export function machineNumbers(machine: string = process.arch): readonly number[] | undefined {
  return numbers[machine]
}
