/** Numbers of prctl, capset, seccomp and openat. Those of Landlock are the same on all architectures. */
const numbers: Readonly<Record<string, readonly [prctl: number, capset: number, seccomp: number, openat: number]>> = {
  x64: [157, 126, 317, 257],
  arm64: [167, 91, 277, 56],
}

/** Undefined for an unknown architecture: Landlock then confines no commands. */
export function machineNumbers(machine: string = process.arch): readonly number[] | undefined {
  return numbers[machine]
}

/** Numbers of unshare, mount and mknodat. */
const mountNumbers: Readonly<Record<string, readonly [unshare: number, mount: number, mknodat: number]>> = {
  x64: [272, 165, 259],
  arm64: [97, 40, 33],
}

/** The call numbers that mount overlays; undefined for an unknown architecture. */
export function overlayNumbers(machine: string = process.arch): readonly number[] | undefined {
  return mountNumbers[machine]
}
