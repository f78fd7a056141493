import { readFileSync } from 'node:fs'

/** The time that a process of this machine has had a processor, in milliseconds. */
export function cpuMsOf(pid = 0): number {
  // The command stands in parentheses; times are in hundredths of a second.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}
