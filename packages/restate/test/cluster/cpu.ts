import { readFileSync } from 'node:fs'

/** CPU time of a process of this machine, in milliseconds. */
export function cpuMsOf(pid = 0): number {
  // The command is in parentheses; times are in hundredths of a second.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}
